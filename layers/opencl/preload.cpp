// OpenCL's loaders that have no layers, reached by preloading (LD_PRELOAD). Whatever a driver hands out
// begins with the address of a table of the driver's functions (cl_khr_icd), and every loader calls by that
// table, however the program has come by the loader's functions. So it is entries of drivers' tables that are
// replaced: no name of a function is taken from anybody but clGetPlatformIDs, by which drivers are come by,
// and what a driver calls within itself goes by names or addresses and stays its own. Programs that existed
// before are not known to the layer, and are the driver's alone. A program that is linked to a driver and to
// no loader goes past the table, wholly, and is not reached.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "layers/opencl/layer.hpp"
#include "program/guarded.hpp"
#include "program/guest.hpp"

namespace larder::layer {
namespace {

using PlatformIds = decltype(&::clGetPlatformIDs);
using PlatformInfo = decltype(&::clGetPlatformInfo);

// A driver's table, and what stood in it. Written before its entries are replaced, and never again.
struct HookedTable {
  cl_icd_dispatch* table = nullptr;
  cl_icd_dispatch before{};
};
constexpr std::size_t kDriversMax = 16;
std::array<HookedTable, kDriversMax> hooked;
constinit std::atomic<std::size_t> hooked_count{0};
// Whoever comes while another thread is at it, or in a child that was forked then, goes without.
constinit std::atomic_flag hooking = ATOMIC_FLAG_INIT;

cl_icd_dispatch* table_of(const void* handle) noexcept {
  cl_icd_dispatch* table = nullptr;
  std::memcpy(&table, handle, sizeof(void*));
  return table;
}

const cl_icd_dispatch* before_of(const void* handle) noexcept {
  const cl_icd_dispatch* const table = table_of(handle);
  const std::size_t count = hooked_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    if (hooked[i].table == table) return &hooked[i].before;
  }
  return table;
}

// What lies beneath the layer: the functions of the driver whose object is given first.
template <auto kMember>
struct Beneath;
template <typename Result, typename Handle, typename... Rest,
          Result (*cl_icd_dispatch::*kMember)(Handle, Rest...)>
struct Beneath<kMember> {
  static Result call(Handle handle, Rest... rest) {
    const cl_icd_dispatch* const table = handle == nullptr ? nullptr : before_of(handle);
    if (table != nullptr && table->*kMember != nullptr) return (table->*kMember)(handle, rest...);
    if constexpr (std::is_same_v<Result, cl_int>) {
      return CL_INVALID_OPERATION;
    } else {
      return Result{};
    }
  }
};

template <auto... kMembers>
struct Members {
  static void put_beneath(cl_icd_dispatch& beneath) noexcept {
    ((beneath.*kMembers = &Beneath<kMembers>::call), ...);
  }
  // Entries that the layer stands before, where the driver has any.
  static void hook(const HookedTable& driver, const cl_icd_dispatch& beneath,
                   const cl_icd_dispatch& above) noexcept {
    const auto put = [&](auto member) {
      if (driver.before.*member != nullptr && above.*member != beneath.*member) {
        std::atomic_ref(driver.table->*member).store(above.*member, std::memory_order_release);
      }
    };
    (put(kMembers), ...);
  }
};
using D = cl_icd_dispatch;
using AllMembers =
    Members<&D::clGetPlatformInfo, &D::clGetDeviceInfo, &D::clGetContextInfo, &D::clGetCommandQueueInfo,
            &D::clCreateProgramWithSource, &D::clCreateProgramWithBinary, &D::clCreateProgramWithIL,
            &D::clCreateProgramWithBuiltInKernels, &D::clRetainProgram, &D::clReleaseProgram,
            &D::clBuildProgram, &D::clCompileProgram, &D::clLinkProgram,
            &D::clSetProgramSpecializationConstant, &D::clGetProgramInfo, &D::clGetProgramBuildInfo,
            &D::clCreateKernel, &D::clCreateKernelsInProgram, &D::clCloneKernel, &D::clRetainKernel,
            &D::clReleaseKernel, &D::clGetKernelInfo, &D::clEnqueueNDRangeKernel, &D::clEnqueueTask,
            &D::clSetEventCallback, &D::clReleaseEvent, &D::clGetExtensionFunctionAddressForPlatform>;

// Asked for by what lies behind us; where that has none because it was loaded for itself alone, by the caller
// and by what it was loaded with.
template <typename Function>
Function find_next(const char* name, const void* caller) noexcept {
  if (void* const found = ::dlsym(RTLD_NEXT, name)) return reinterpret_cast<Function>(found);
  Dl_info info{};
  for (const char* const library : {::dladdr(caller, &info) != 0 ? info.dli_fname : nullptr,
                                    static_cast<const char*>("libOpenCL.so.1")}) {
    void* const handle = library == nullptr ? nullptr : ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    void* const found = handle == nullptr ? nullptr : ::dlsym(handle, name);
    if (handle != nullptr) ::dlclose(handle);  // whoever called holds it
    if (found != nullptr && found != reinterpret_cast<void*>(&::clGetPlatformIDs))
      return reinterpret_cast<Function>(found);
  }
  return nullptr;
}

std::string said_of(cl_platform_id platform, cl_platform_info what, PlatformInfo ask) {
  std::size_t size = 0;
  if (ask(platform, what, 0, nullptr, &size) != CL_SUCCESS || size == 0) return {};
  std::string text(size, '\0');
  if (ask(platform, what, size, text.data(), nullptr) != CL_SUCCESS) return {};
  return text.c_str();
}

// How much of a table of this platform there is; 0: it is left alone. Those of OpenCL 2 lack some of what the
// layer stands before and have other; Intel's functions by name take programs.
std::size_t table_size(cl_platform_id platform, PlatformInfo ask) {
  const std::string version = said_of(platform, CL_PLATFORM_VERSION, ask);
  const std::string extensions = said_of(platform, CL_PLATFORM_EXTENSIONS, ask) + ' ';
  if (extensions.find("cl_khr_icd ") == std::string::npos ||
      said_of(platform, CL_PLATFORM_NAME, ask).find("Intel") != std::string::npos)
    return 0;
  if (version.starts_with("OpenCL 3.")) return sizeof(cl_icd_dispatch);
  return version.starts_with("OpenCL 1.2") ? offsetof(cl_icd_dispatch, clCreateCommandQueueWithProperties)
                                           : 0;
}

// Newer drivers may put other things into a table that loaders of their time know how to read.
bool holds_functions(const cl_icd_dispatch& table) noexcept {
  const auto is_function = [](auto* entry) {
    Dl_info info{};
    return ::dladdr(reinterpret_cast<const void*>(entry), &info) != 0;
  };
  return (table.clGetPlatformIDs == nullptr || is_function(table.clGetPlatformIDs)) &&
         is_function(table.clBuildProgram) && is_function(table.clReleaseProgram);
}

bool make_writable(const void* begin, std::size_t size) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto from = reinterpret_cast<std::uintptr_t>(begin) & ~(page - 1);
  const auto to = (reinterpret_cast<std::uintptr_t>(begin) + size + page - 1) & ~(page - 1);
  return ::mprotect(reinterpret_cast<void*>(from), to - from, PROT_READ | PROT_WRITE) == 0;
}

void hook_drivers(PlatformIds platform_ids, const void* caller) {
  static constinit const cl_icd_dispatch* above = nullptr;
  static constinit cl_icd_dispatch beneath{};
  static constinit bool is_asked = false;
  const auto ask = find_next<PlatformInfo>("clGetPlatformInfo", caller);
  std::array<cl_platform_id, 64> platforms{};
  cl_uint count = 0;
  if (ask == nullptr || platform_ids(platforms.size(), platforms.data(), &count) != CL_SUCCESS) return;
  if (hooking.test_and_set(std::memory_order_acquire)) return;
  for (std::size_t i = 0; i < count && i < platforms.size(); ++i) {
    const std::size_t known = hooked_count.load(std::memory_order_relaxed);
    const std::size_t size = table_size(platforms[i], ask);
    cl_icd_dispatch* const table = size == 0 ? nullptr : table_of(platforms[i]);
    if (table == nullptr || known == kDriversMax || before_of(platforms[i]) != table ||
        !holds_functions(*table))
      continue;
    if (!is_asked) {
      is_asked = true;
      AllMembers::put_beneath(beneath);
      above = stand_above(beneath);
    }
    if (above == nullptr || !make_writable(table, size)) break;
    hooked[known].table = table;
    std::memcpy(&hooked[known].before, table, size);
    hooked_count.store(known + 1, std::memory_order_release);
    AllMembers::hook(hooked[known], beneath, *above);
  }
  hooking.clear(std::memory_order_release);
}

}  // namespace
}  // namespace larder::layer

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clGetPlatformIDs(cl_uint count,
                                                                                      cl_platform_id* list,
                                                                                      cl_uint* found) {
  using namespace larder::layer;
  const void* const caller = __builtin_return_address(0);
  const auto next = find_next<PlatformIds>("clGetPlatformIDs", caller);
  constexpr cl_int kNoPlatform = -1001;  // CL_PLATFORM_NOT_FOUND_KHR
  if (next == nullptr) {
    if (found != nullptr) *found = 0;
    return kNoPlatform;
  }
  const cl_int code = next(count, list, found);
  if (code == CL_SUCCESS && larder::guest::is_enabled()) larder::guarded([&] { hook_drivers(next, caller); });
  return code;
}
