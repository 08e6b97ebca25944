// OpenCL as the layer's program caches use it. What is found is made from its binary, as ever. What must be
// built is built in the program that the host holds and by the host's own words, so that a miss leaves
// everything as it would be without larder; a compiler's no is the driver's own. Any thread.
#pragma once

#include <memory>
#include <string>

#include "larder/opencl.hpp"
#include "program/opencl/functions.hpp"

namespace larder::layer {

// One call of clBuildProgram. While a request for it is under way, it is its thread's.
struct HostBuild {
  OpenclApi::HostBuild said;
  bool may_build = true;  // else what is not found is left to the host

  // What came of it.
  bool was_built = false;  // in the host's program
  cl_int code = CL_SUCCESS;
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

}  // namespace larder::layer
