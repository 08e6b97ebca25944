#include "program/opencl/functions.hpp"

#include <dlfcn.h>

namespace larder::opencl {
namespace {

template <typename Function>
void find(void* loader, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(::dlsym(loader, name));
}

// Never unloaded: whoever asked for it goes on using what he got.
Functions load() noexcept {
  Functions functions{};
  void* loader = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (loader == nullptr) loader = ::dlopen("libOpenCL.so", RTLD_NOW | RTLD_LOCAL);
  if (loader == nullptr) return functions;
  find(loader, "clGetPlatformInfo", functions.get_platform_info);
  find(loader, "clGetDeviceInfo", functions.get_device_info);
  find(loader, "clGetContextInfo", functions.get_context_info);
  find(loader, "clRetainContext", functions.retain_context);
  find(loader, "clReleaseContext", functions.release_context);
  find(loader, "clCreateProgramWithSource", functions.create_program_with_source);
  find(loader, "clCreateProgramWithBinary", functions.create_program_with_binary);
  find(loader, "clBuildProgram", functions.build_program);
  find(loader, "clCompileProgram", functions.compile_program);
  find(loader, "clLinkProgram", functions.link_program);
  find(loader, "clGetProgramInfo", functions.get_program_info);
  find(loader, "clGetProgramBuildInfo", functions.get_program_build_info);
  find(loader, "clRetainProgram", functions.retain_program);
  find(loader, "clReleaseProgram", functions.release_program);
  find(loader, "clCreateKernel", functions.create_kernel);
  find(loader, "clReleaseKernel", functions.release_kernel);
  find(loader, "clCreateProgramWithIL", functions.create_program_with_il);
  find(loader, "clSetProgramSpecializationConstant", functions.set_specialization_constant);
  return functions;
}

}  // namespace

bool is_whole(const Functions& f) noexcept {
  return f.get_platform_info != nullptr && f.get_device_info != nullptr && f.get_context_info != nullptr &&
         f.retain_context != nullptr && f.release_context != nullptr &&
         f.create_program_with_source != nullptr && f.create_program_with_binary != nullptr &&
         f.build_program != nullptr && f.compile_program != nullptr && f.link_program != nullptr &&
         f.get_program_info != nullptr && f.get_program_build_info != nullptr &&
         f.retain_program != nullptr && f.release_program != nullptr && f.create_kernel != nullptr &&
         f.release_kernel != nullptr;
}

const Functions* loaded_functions() noexcept {
  static const Functions functions = load();
  return is_whole(functions) ? &functions : nullptr;
}

}  // namespace larder::opencl
