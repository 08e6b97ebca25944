// OpenclApi lets a ProgramCache keep the programs and kernels of one OpenCL context. It lives in a library of
// its own (larder_opencl) that is linked to no OpenCL: it uses the ICD loader that the process has, or loads
// it. This header needs none of OpenCL's: cl_context is a `_cl_context*`, and so on. Any thread.
//
//   auto api = larder::OpenclApi::open(context);
//   larder::ProgramCache<larder::OpenclApi> programs(*api, &cache);
//   auto program = programs.get_or_build({&device, 1}, {.text = source});
//   auto kernel = programs.get_kernel(*program, "saxpy");
//   clSetKernelArg((*kernel)->handle(), ...);
//
// Headers on disk may be used where the driver's compiler can be listened to (docs/gpu.md): which ones it
// read or looked for is heard of while it compiles, and decides the product. Elsewhere programs that may need
// any are not kept.
//
// The arguments of a cl_kernel are part of it: threads that share one take turns, as OpenCL demands.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "larder/export.h"
#include "larder/program.hpp"

struct _cl_context;
struct _cl_device_id;
struct _cl_program;
struct _cl_kernel;

namespace larder {

namespace opencl {
struct Driver;
struct Functions;
}  // namespace opencl

class LARDER_API OpenclApi {
 public:
  static constexpr std::string_view kKind = "opencl-program";
  using Device = _cl_device_id*;
  using Program = _cl_program*;
  using Kernel = _cl_kernel*;

  // Retains `context` while it lives. unsupported when no ICD loader can be loaded.
  static Result<std::shared_ptr<OpenclApi>> open(_cl_context* context);
  // For a layer, which must not call the loader it is called from. `functions` live for ever.
  static Result<std::shared_ptr<OpenclApi>> open(_cl_context* context, const opencl::Functions& functions);
  ~OpenclApi();
  OpenclApi(const OpenclApi&) = delete;
  OpenclApi& operator=(const OpenclApi&) = delete;

  // For a layer: why programs of this driver are better not kept by their binaries; empty: they may be.
  // Whether asking for those is dear, so that it is left to larder's worker. And whether a build is over when
  // clBuildProgram returns, whoever wants to be called back.
  std::string_view why_left_alone() const noexcept;
  bool has_dear_binaries() const noexcept;
  bool builds_at_once() const noexcept;
  // For a layer: build() by its host's own words, in the program that its host holds, or in one that a link
  // gives. `call` has the driver do it and returns its code, which `code` is then. Success gives one more
  // reference of that program.
  using HostCall = std::function<int(Program& program)>;
  Result<BuiltProgram<Program>> build_for(const HostCall& call, std::span<const Device> devices,
                                          Program& program, int& code) const;
  // One more reference of a program that was built.
  Result<BuiltProgram<Program>> share(Program program) const;
  // create_from_binary for what is to be linked: a compiled object or a library, by its number in OpenCL. It
  // is not built; refused where the driver takes it for something else.
  Result<BuiltProgram<Program>> create_unbuilt(std::span<const Device> devices,
                                               std::span<const Artefacts> binaries, unsigned type) const;

  // What ProgramApi asks for.
  FileReading file_reading() const noexcept;
  // Where its compiler takes sources to lie: `#include "x.h"` is first looked for there.
  std::string source_folder() const;
  static std::string_view cannot(const ProgramInput& input) noexcept;
  static CanonicalOptions canonicalise(std::string_view options);
  DeviceIdentity identity(Device device) const;
  Result<BuiltProgram<Program>> build(const ProgramIngredients& what, std::span<const Device> devices) const;
  Result<BuiltProgram<Program>> create_from_binary(const ProgramIngredients& what,
                                                   std::span<const Device> devices,
                                                   std::span<const Artefacts> binaries) const;
  Result<Artefacts> binary_of(Program program, Device device) const;
  Result<Kernel> kernel_of(Program program, const std::string& name) const;
  void release(Program program) const noexcept;
  void release(Kernel kernel) const noexcept;

 private:
  OpenclApi(_cl_context* context, const opencl::Functions& functions);

  Result<Program> create(const ProgramIngredients& what) const;
  Result<Program> create(std::span<const Device> devices, std::span<const Artefacts> binaries) const;
  Result<Program> compile(const ProgramIngredients& what, std::span<const Device> devices) const;
  Result<BuiltProgram<Program>> link(const ProgramIngredients& what, std::span<const Device> devices,
                                     std::span<const Program> parts) const;
  std::string log_of(Program program, std::span<const Device> devices) const;
  Error error_of(int code, std::string_view what, Program program, std::span<const Device> devices) const;

  void hear_files() const;
  Result<BuiltProgram<Program>> build_heard(const ProgramIngredients& what,
                                            std::span<const Device> devices) const;

  _cl_context* context_;
  const opencl::Functions& functions_;
  const opencl::Driver* driver_;
};

}  // namespace larder
