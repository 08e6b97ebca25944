#include "layers/opencl/host_api.hpp"

#include "program/ending.hpp"

namespace larder::layer {
namespace {

constinit thread_local HostBuild* current = nullptr;

void note(HostBuild& build, const Artefacts& binary) {
  if (binary.size() != 1) return;
  const std::string_view bytes = binary.front().bytes.text();
  if (build.binary && *build.binary != bytes) build.has_several_binaries = true;
  if (!build.binary) build.binary = std::string(bytes);
}

}  // namespace

HostApi::Request::Request(HostBuild& build) noexcept : before_(current) {
  current = &build;
}
HostApi::Request::~Request() {
  current = before_;
}

// Once, however many kinds of devices ask.
Result<BuiltProgram<HostApi::Program>> HostApi::build(const ProgramIngredients&,
                                                      std::span<const Device> devices) const {
  HostBuild* const mine = current;
  if (mine == nullptr || !mine->may_build) return fail(Code::unsupported, "build: left to the host");
  if (mine->was_built && mine->code == CL_SUCCESS) return opencl_->share(mine->program);
  mine->was_built = true;
  return opencl_->build_for(mine->call, devices, mine->program, mine->code);
}

Result<BuiltProgram<HostApi::Program>> HostApi::create_from_binary(
    const ProgramIngredients& what, std::span<const Device> devices,
    std::span<const Artefacts> binaries) const {
  HostBuild* const mine = current;
  if (mine == nullptr) return opencl_->create_from_binary(what, devices, binaries);
  if (mine->was_built) return opencl_->share(mine->program);
  for (const Artefacts& each : binaries) note(*mine, each);
  if (mine->type == CL_PROGRAM_BINARY_TYPE_EXECUTABLE)
    return opencl_->create_from_binary(what, devices, binaries);
  return opencl_->create_unbuilt(devices, binaries, mine->type);
}

Result<Artefacts> HostApi::binary_of(Program program, Device device) const {
  auto binary = opencl_->binary_of(program, device);
  if (binary && current != nullptr) note(*current, *binary);
  return binary;
}

Result<HostApi::Kernel> HostApi::kernel_of(Program program, const std::string& name) const {
  return opencl_->kernel_of(program, name);
}

void HostApi::release(Program program) const noexcept {
  if (!guest::is_ending()) opencl_->release(program);
}

void HostApi::release(Kernel kernel) const noexcept {
  if (!guest::is_ending()) opencl_->release(kernel);
}

}  // namespace larder::layer
