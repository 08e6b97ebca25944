#include "layers/opencl/host_api.hpp"

#include "program/ending.hpp"

namespace larder::layer {
namespace {

constinit thread_local HostBuild* current = nullptr;

}  // namespace

HostApi::Request::Request(HostBuild& build) noexcept : before_(current) {
  current = &build;
}
HostApi::Request::~Request() {
  current = before_;
}

Result<BuiltProgram<HostApi::Program>> HostApi::build(const ProgramIngredients&,
                                                      std::span<const Device> devices) const {
  HostBuild* const mine = current;
  if (mine == nullptr || !mine->may_build) return fail(Code::unsupported, "build: left to the host");
  mine->was_built = true;
  return opencl_->build_for(mine->said, devices, mine->code);
}

Result<BuiltProgram<HostApi::Program>> HostApi::create_from_binary(
    const ProgramIngredients& what, std::span<const Device> devices,
    std::span<const Artefacts> binaries) const {
  return opencl_->create_from_binary(what, devices, binaries);
}

Result<Artefacts> HostApi::binary_of(Program program, Device device) const {
  return opencl_->binary_of(program, device);
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
