// OpenCL drivers for tests: the ICD loader is pointed at those of Debian's that are there, and at none that
// the machine has besides.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace larder::testing {

// A context on the first device of the platform whose name holds `platform`. Lives as long as the process.
struct OpenclPlace {
  std::string why_not;  // why there is none
  cl_context context = nullptr;
  cl_device_id device = nullptr;
};

struct OpenclLoader {
  OpenclLoader() {
    std::string pattern = (std::filesystem::temp_directory_path() / "larder-icd-XXXXXX").string();
    static const std::filesystem::path vendors = ::mkdtemp(pattern.data());
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(vendors, ignored);
    });
    constexpr std::string_view kDrivers[] = {"libpocl.so.2", "/usr/lib/oclgrind/liboclgrind-rt-icd.so"};
    int number = 0;
    for (const std::string_view driver : kDrivers) {
      if (driver.front() == '/' && !std::filesystem::exists(driver)) continue;
      std::ofstream(vendors / ("driver" + std::to_string(++number) + ".icd")) << driver << '\n';
    }
    std::filesystem::create_directory(vendors / "pocl-cache");
    ::setenv("OCL_ICD_VENDORS", vendors.c_str(), 1);
    ::setenv("POCL_CACHE_DIR", (vendors / "pocl-cache").c_str(), 1);
    library = ::dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  }

  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library, name));
  }

  void* library = nullptr;
};

inline const OpenclLoader& opencl_loader() {
  static const OpenclLoader* const loader = new OpenclLoader;
  return *loader;
}

inline OpenclPlace open_opencl(std::string_view platform_part) {
  const OpenclLoader& loader = opencl_loader();
  if (loader.library == nullptr) return {.why_not = "no libOpenCL.so.1 (package ocl-icd-libopencl1)"};
  std::array<cl_platform_id, 16> platforms{};
  cl_uint count = 0;
  loader.find<decltype(clGetPlatformIDs)>("clGetPlatformIDs")(platforms.size(), platforms.data(), &count);
  for (cl_uint i = 0; i < count && i < platforms.size(); ++i) {
    std::array<char, 256> name{};
    loader.find<decltype(clGetPlatformInfo)>("clGetPlatformInfo")(platforms[i], CL_PLATFORM_NAME,
                                                                  name.size() - 1, name.data(), nullptr);
    if (std::string_view(name.data()).find(platform_part) == std::string_view::npos) continue;
    OpenclPlace place;
    cl_int code = loader.find<decltype(clGetDeviceIDs)>("clGetDeviceIDs")(platforms[i], CL_DEVICE_TYPE_ALL, 1,
                                                                          &place.device, nullptr);
    if (code == CL_SUCCESS) {
      place.context = loader.find<decltype(clCreateContext)>("clCreateContext")(nullptr, 1, &place.device,
                                                                                nullptr, nullptr, &code);
    }
    if (place.context == nullptr) place.why_not = "its platform has no device that works here";
    return place;
  }
  return {.why_not = "no OpenCL platform called " + std::string(platform_part)};
}

}  // namespace larder::testing
