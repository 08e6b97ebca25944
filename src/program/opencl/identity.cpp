// Who a device is: everything that OpenCL tells of it, its driver's build, and what its compiler reads of the
// environment.
#include <array>
#include <cstdio>
#include <cstdlib>

#include "larder/driver_identity.hpp"
#include "larder/opencl.hpp"
#include "program/filled.hpp"
#include "program/opencl/driver.hpp"
#include "program/opencl/functions.hpp"

#include <CL/cl_ext.h>

namespace larder {
namespace {

using opencl::Driver;
using opencl::Functions;

std::string platform_text(const Functions& functions, cl_platform_id platform, cl_platform_info what) {
  std::size_t size = 0;
  if (functions.get_platform_info(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (functions.get_platform_info(platform, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(size - 1);
  return text;
}

std::string device_text(const Functions& functions, cl_device_id device, cl_device_info what) {
  std::size_t size = 0;
  if (functions.get_device_info(device, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (functions.get_device_info(device, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  text.resize(size - 1);
  return text;
}

template <typename Number>
bool device_number(const Functions& functions, cl_device_id device, cl_device_info what, Number& number) {
  constexpr std::size_t kSize = sizeof(Number);  // NOLINT(bugprone-sizeof-expression): handles are pointers
  std::size_t size = 0;
  return functions.get_device_info(device, what, kSize, &number, &size) == CL_SUCCESS && size == kSize;
}

std::string device_uuid(const Functions& functions, cl_device_id device, cl_device_info what) {
  std::array<unsigned char, CL_UUID_SIZE_KHR> uuid{};
  if (!device_number(functions, device, what, uuid)) return {};
  std::string text;
  for (const unsigned char byte : uuid) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

// The class of its instruction set, where the driver tells; empty where it does not.
std::string isa_class(const Functions& functions, cl_device_id device) {
  constexpr cl_device_info kNvMajor = 0x4000;
  constexpr cl_device_info kNvMinor = 0x4001;
  constexpr cl_device_info kAmdMajor = 0x404A;
  constexpr cl_device_info kAmdMinor = 0x404B;
  constexpr cl_device_info kIntelVersion = 0x4250;
  cl_uint major = 0;
  cl_uint minor = 0;
  if (device_number(functions, device, kNvMajor, major) &&
      device_number(functions, device, kNvMinor, minor)) {
    return "nv " + std::to_string(major) + '.' + std::to_string(minor);
  }
  if (device_number(functions, device, kAmdMajor, major) &&
      device_number(functions, device, kAmdMinor, minor)) {
    return "amd " + std::to_string(major) + '.' + std::to_string(minor);
  }
  if (device_number(functions, device, kIntelVersion, major)) return "intel " + std::to_string(major);
  return {};
}

// What says where a driver keeps its files and how much it talks decides no product.
constexpr std::string_view kReadButHarmless[] = {
    "POCL_CACHE_DIR",        "POCL_KERNEL_CACHE",          "POCL_DEBUG",
    "POCL_TRACING",          "POCL_TRACING_OPT",           "POCL_TRACING_FILTER",
    "MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_MAX_SIZE", "MESA_SHADER_CACHE_DISABLE",
    "CUDA_CACHE_PATH",       "CUDA_CACHE_MAXSIZE",         "CUDA_CACHE_DISABLE",
    "NEO_CACHE_DIR",         "NEO_CACHE_MAX_SIZE",         "NEO_CACHE_PERSISTENT",
};

// PoCL adds these to every program's options.
constexpr std::string_view kMoreFlags = "POCL_EXTRA_BUILD_FLAGS";

}  // namespace

DeviceIdentity OpenclApi::identity(Device device) const {
  DeviceIdentity identity;
  const auto add = [&](const char* name, std::string value) {
    identity.facts.emplace_back(name, std::move(value));
  };
  cl_platform_id platform = nullptr;
  if (!device_number(functions_, device, CL_DEVICE_PLATFORM, platform) || platform == nullptr) {
    identity.why_not = "its device does not say to which platform it belongs";
    return identity;
  }
  const std::string platform_name = platform_text(functions_, platform, CL_PLATFORM_NAME);
  add("platform", platform_name);
  add("platform-version", platform_text(functions_, platform, CL_PLATFORM_VERSION));
  add("device", device_text(functions_, device, CL_DEVICE_NAME));
  add("device-vendor", device_text(functions_, device, CL_DEVICE_VENDOR));
  add("device-version", device_text(functions_, device, CL_DEVICE_VERSION));
  add("driver-version", device_text(functions_, device, CL_DRIVER_VERSION));
  add("language-version", device_text(functions_, device, CL_DEVICE_OPENCL_C_VERSION));
  add("extensions", device_text(functions_, device, CL_DEVICE_EXTENSIONS));
  add("il-version", device_text(functions_, device, CL_DEVICE_IL_VERSION));
  cl_uint address_bits = 0;
  if (device_number(functions_, device, CL_DEVICE_ADDRESS_BITS, address_bits)) {
    add("address-bits", std::to_string(address_bits));
  }
  add("driver-uuid", device_uuid(functions_, device, CL_DRIVER_UUID_KHR));
  const std::string isa = isa_class(functions_, device);
  if (!isa.empty()) {
    add("isa", isa);
  } else {
    add("device-uuid", device_uuid(functions_, device, CL_DEVICE_UUID_KHR));
  }
  cl_device_type type = 0;
  if (device_number(functions_, device, CL_DEVICE_TYPE, type) && (type & CL_DEVICE_TYPE_CPU) != 0) {
    add("processor", processor_identity());
  }
  const Driver& driver = opencl::driver_of(platform_name);
  // A platform begins with the table of its driver's functions, by which any ICD loader calls them.
  const void* const table = *reinterpret_cast<void* const*>(platform);
  const void* const function = table == nullptr ? nullptr : *static_cast<void* const*>(table);
  std::string build = library_identity(function, filled(driver.libraries));
  if (build.empty()) identity.why_not = "the build of its driver cannot be known";
  add("driver-build", std::move(build));
  add("environment", environment_identity(filled(driver.prefixes), kReadButHarmless));
  if (const char* const flags = std::getenv(kMoreFlags.data()); flags != nullptr) {
    const CanonicalOptions more = canonicalise(flags);
    if (more.reads_files || !more.why_not.empty()) {
      identity.why_not = std::string(kMoreFlags) + " makes every compilation read or write files of its own";
    }
  }
  return identity;
}

}  // namespace larder
