// The layer's answers to clBuildProgram, clCompileProgram and clLinkProgram from what larder has. An object
// that was compiled is known by its binary: what is linked is decided by the bytes of its parts, in their
// order, and the options, whatever they were compiled from. Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "layers/opencl/programs.hpp"
// Which version of OpenCL is meant is said above.
#include <CL/cl_icd.h>

namespace larder::layer {

using Callback = void(CL_CALLBACK*)(cl_program, void*);

// Before all else; both live for ever. With `keeps_all`, programs of every driver are kept, also of those
// that the table leaves alone.
void set_serving_driver(const cl_icd_dispatch& next, const opencl::Functions& functions, bool keeps_all);

// The words of a call, as the host said them.
struct HostWords {
  cl_uint count = 0;
  const cl_device_id* list = nullptr;
  const char* options = nullptr;
  Callback notify = nullptr;
  void* data = nullptr;
};
struct HostHeaders {
  cl_uint count = 0;
  const cl_program* programs = nullptr;
  const char** names = nullptr;
};
struct HostParts {
  cl_context context = nullptr;
  cl_uint count = 0;
  const cl_program* programs = nullptr;
};

// True: it is done, `code` is the answer, and whoever wants to be called back was. False: it is left to the
// driver.
bool serve_build(cl_program program, const HostWords& words, cl_int& code) noexcept;
bool serve_compile(cl_program program, const HostWords& words, const HostHeaders& headers,
                   cl_int& code) noexcept;
// `linked` is the host's from then on.
bool serve_link(const HostParts& parts, const HostWords& words, cl_program& linked, cl_int& code) noexcept;

// The handles that the driver knows the parts by. Empty: there are none, or no memory. `holds` keeps them.
std::vector<cl_program> handles_of(const HostParts& parts, std::vector<Served>& holds) noexcept;

}  // namespace larder::layer
