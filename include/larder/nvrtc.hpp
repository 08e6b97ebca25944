// NvrtcApi lets a ProgramCache keep what NVRTC, NVIDIA's compiler at run time, makes of CUDA sources. It
// lives in a library of its own (larder_nvrtc) that is linked to no CUDA and needs none to be built: it uses
// the libnvrtc that the process has, or loads one. No GPU is needed. Any thread.
//
//   auto api = larder::NvrtcApi::open();
//   larder::ProgramCache<larder::NvrtcApi> programs(*api, &cache);
//   larder::NvrtcTarget target{90};
//   auto program = programs.get_or_build({&target, 1}, {.text = source, .name_expressions = names});
//   cuModuleLoadData(&module, (*program)->handle()->artefact("cubin").data());
//   auto kernel = programs.get_kernel(*program, "scale<float>");
//   cuModuleGetFunction(&function, module, (*kernel)->handle()->lowered_name.c_str());
//
// Options are several: write a backslash before a blank within one, or use join_options. Headers on disk may
// be used freely: which ones it read or looked for is heard of while it compiles, and decides the product.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "larder/export.h"
#include "larder/program.hpp"

namespace larder {

namespace nvrtc {
struct Functions;
}

// What a program is compiled for: 90 is sm_90. 0: what its options say, else what NVRTC chooses.
struct NvrtcTarget {
  std::uint32_t architecture = 0;
};

// What one compilation gave.
struct NvrtcProgram {
  // Of those that NVRTC made: `ptx` (with the zero at its end), `cubin`, `lto-ir`, `optix-ir`, and `name
  // EXPRESSION`, the lowered name of each name expression.
  Artefacts artefacts;
  std::string log;

  // Empty when there is none of that name.
  LARDER_API BytesView artefact(std::string_view name) const noexcept;
};

// NVRTC has no kernel objects; a kernel is the name under which a module has it.
struct NvrtcKernel {
  std::string lowered_name;
};

class LARDER_API NvrtcApi {
 public:
  static constexpr std::string_view kKind = "nvrtc-program";
  using Device = NvrtcTarget;
  using Program = const NvrtcProgram*;
  using Kernel = const NvrtcKernel*;

  // The libnvrtc that the process has loaded, else the one called `library`, else the newest that the loader
  // finds. unsupported when there is none.
  static Result<std::shared_ptr<NvrtcApi>> open(const std::string& library = {});
  // For a layer. `functions` live for ever.
  static Result<std::shared_ptr<NvrtcApi>> open(const nvrtc::Functions& functions);

  // What ProgramApi asks for.
  FileReading file_reading() const noexcept { return FileReading::recorded; }
  static std::string_view cannot(const ProgramInput& input) noexcept;
  static CanonicalOptions canonicalise(std::string_view options);
  DeviceIdentity identity(Device device) const;
  Result<BuiltProgram<Program>> build(const ProgramIngredients& what, std::span<const Device> devices) const;
  Result<BuiltProgram<Program>> create_from_binary(const ProgramIngredients& what,
                                                   std::span<const Device> devices,
                                                   std::span<const Artefacts> binaries) const;
  Result<Artefacts> binary_of(Program program, Device device) const;
  // By name expression, or by the name of a kernel that is `extern "C"` in PTX or cubin.
  Result<Kernel> kernel_of(Program program, const std::string& name) const;
  void release(Program program) const noexcept;
  void release(Kernel kernel) const noexcept;

 private:
  explicit NvrtcApi(const nvrtc::Functions& functions);

  const nvrtc::Functions& functions_;
  std::string version_;
  std::string library_build_;
  std::string builtins_name_;
  std::string builtins_build_;
  std::string why_not_;
};

}  // namespace larder
