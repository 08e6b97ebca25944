// The OpenCL functions that larder calls, by pointer: a program that has no OpenCL needs none to use larder,
// and a layer calls what lies beneath it and not the loader.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

namespace larder::opencl {

struct Functions {
  decltype(&::clGetPlatformInfo) get_platform_info;
  decltype(&::clGetDeviceInfo) get_device_info;
  decltype(&::clGetContextInfo) get_context_info;
  decltype(&::clRetainContext) retain_context;
  decltype(&::clReleaseContext) release_context;
  decltype(&::clCreateProgramWithSource) create_program_with_source;
  decltype(&::clCreateProgramWithBinary) create_program_with_binary;
  decltype(&::clBuildProgram) build_program;
  decltype(&::clCompileProgram) compile_program;
  decltype(&::clLinkProgram) link_program;
  decltype(&::clGetProgramInfo) get_program_info;
  decltype(&::clGetProgramBuildInfo) get_program_build_info;
  decltype(&::clRetainProgram) retain_program;
  decltype(&::clReleaseProgram) release_program;
  decltype(&::clCreateKernel) create_kernel;
  decltype(&::clReleaseKernel) release_kernel;
  // Since OpenCL 2.1 and 2.2: may be null.
  decltype(&::clCreateProgramWithIL) create_program_with_il;
  decltype(&::clSetProgramSpecializationConstant) set_specialization_constant;
};

// None is missing but those that may be.
bool is_whole(const Functions& functions) noexcept;

// From the loader of this process, loaded when it is not; null when there is none.
const Functions* loaded_functions() noexcept;

}  // namespace larder::opencl
