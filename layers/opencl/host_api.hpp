// OpenCL as the layer's program caches use it. What is found is made from its binary, as ever. What must be
// built, compiled or linked is so by the host's own words, for all devices that it names and in the program
// that it holds, so that a miss leaves everything as it would be without larder; a compiler's no is the
// driver's own. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "larder/opencl.hpp"
#include "program/opencl/functions.hpp"

namespace larder::layer {

// One call of clBuildProgram, clCompileProgram or clLinkProgram. While a request for it is under way, it is
// its thread's.
struct HostBuild {
  OpenclApi::HostCall call;
  // The host's; of a link, what came of it.
  cl_program program = nullptr;
  // What is made from a binary is built where it is an executable, and left as it is where it is to be
  // linked.
  cl_program_binary_type type = CL_PROGRAM_BINARY_TYPE_EXECUTABLE;
  bool may_build = true;  // else what is not found is left to the host

  // What came of it.
  bool was_built = false;  // by the host's words
  cl_int code = CL_SUCCESS;
  // The binary that was kept or found, where all devices share one.
  std::optional<std::string> binary;
  bool has_several_binaries = false;
  // What was not found and is to be left to larder's worker once the host has built it.
  std::vector<Key> wished;
};

class HostApi {
 public:
  static constexpr std::string_view kKind = OpenclApi::kKind;
  using Device = OpenclApi::Device;
  using Program = OpenclApi::Program;
  using Kernel = OpenclApi::Kernel;

  explicit HostApi(std::shared_ptr<OpenclApi> opencl) noexcept : opencl_(std::move(opencl)) {}

  // What is built by this thread while one lives is built for `build`.
  class Request {
   public:
    explicit Request(HostBuild& build) noexcept;
    ~Request();
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

   private:
    HostBuild* const before_;
  };

  bool builds_at_once() const noexcept { return opencl_->builds_at_once(); }

  // What ProgramApi asks for.
  FileReading file_reading() const noexcept { return opencl_->file_reading(); }
  std::string source_folder() const { return opencl_->source_folder(); }
  static std::string_view cannot(const ProgramInput& input) noexcept { return OpenclApi::cannot(input); }
  static CanonicalOptions canonicalise(std::string_view options) { return OpenclApi::canonicalise(options); }
  DeviceIdentity identity(Device device) const { return opencl_->identity(device); }
  // unsupported where nobody asks who may build.
  Result<BuiltProgram<Program>> build(const ProgramIngredients& what, std::span<const Device> devices) const;
  Result<BuiltProgram<Program>> create_from_binary(const ProgramIngredients& what,
                                                   std::span<const Device> devices,
                                                   std::span<const Artefacts> binaries) const;
  Result<Artefacts> binary_of(Program program, Device device) const;
  Result<Kernel> kernel_of(Program program, const std::string& name) const;
  void release(Program program) const noexcept;
  void release(Kernel kernel) const noexcept;

 private:
  std::shared_ptr<OpenclApi> opencl_;
};

// The same for what clCompileProgram makes of a source: it is not what clBuildProgram makes of it.
class HostObjectApi : public HostApi {
 public:
  static constexpr std::string_view kKind = "opencl-object";
  explicit HostObjectApi(const HostApi& api) noexcept : HostApi(api) {}
};

}  // namespace larder::layer
