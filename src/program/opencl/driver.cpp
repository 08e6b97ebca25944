#include "program/opencl/driver.hpp"

#include <algorithm>
#include <cstdlib>

namespace larder::opencl {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// PoCL 3.1 writes each source into its cache's folder, so that `#include "x.h"` is first looked for there.
std::string pocl_folder() {
  if (const char* const folder = std::getenv("POCL_CACHE_DIR")) return folder;
  const std::string keeps = variable("POCL_KERNEL_CACHE");
  const std::string behind = keeps == "0" ? "pocl/uncached" : "pocl/kcache";
  if (const std::string caches = variable("XDG_CACHE_HOME"); !caches.empty()) return caches + '/' + behind;
  if (const char* const home = std::getenv("HOME")) return std::string(home) + "/.cache/" + behind;
  return "/tmp/" + behind;
}

// Sources, headers given in memory and what is half written: tempfile_XXXXXX and the like; what is kept: two
// letters and 37.
bool is_pocls_own(std::string_view rest) {
  constexpr std::size_t kHashSize = 37;
  const auto is_hash = [](std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'P'; });
  };
  if (rest.find("..") != std::string_view::npos) return false;
  for (const std::string_view own : {"tempfile_", "tempdir_", "_UNCACHED_"}) {
    if (rest.starts_with(own)) return true;
  }
  const std::string_view first = rest.substr(0, rest.find('/'));
  if (first.size() != 2 || !is_hash(first)) return false;
  if (rest.size() == first.size()) return true;
  const std::string_view second = rest.substr(first.size() + 1);
  const std::string_view hash = second.substr(0, second.find('/'));
  return hash.size() == kHashSize && is_hash(hash);
}

// PoCL compiles every kernel once more for its binaries, up to nine times the whole run, and does not put
// into them what it compiles at each launch.
constexpr std::string_view kPoclKeepsMore =
    "larder run adopts its own cache, which holds more than its binaries, and those are dear to ask for";
constexpr std::string_view kMesaKeepsMore =
    "larder run adopts its own cache, which holds what takes its time; its binaries do not";

constexpr Driver kDrivers[] = {
    {.platform = "Portable Computing Language",
     .prefixes = {"POCL_"},
     // Not by its folder: its cache is called so as well, and what is loaded from there are kernels.
     .libraries = {"/libpocl-devices-"},
     .compilers = {"libpocl.so", "libLLVM", "libclang-cpp"},
     .source_folder = pocl_folder,
     .is_own = is_pocls_own,
     .left_alone = kPoclKeepsMore,
     .has_dear_binaries = true,
     .builds_at_once = true},
    {.platform = "Oclgrind",
     .prefixes = {"OCLGRIND_"},
     .compilers = {"liboclgrind", "libLLVM", "libclang-cpp"},
     .left_alone = {},
     .builds_at_once = true},
    {.platform = "rusticl",
     .prefixes = {"RUSTICL_", "MESA_", "LP_", "GALLIVM_"},
     .libraries = {"/dri/"},
     .left_alone = kMesaKeepsMore},
    {.platform = "Clover", .prefixes = {"CLOVER_", "MESA_", "LP_", "GALLIVM_"}, .libraries = {"/dri/"}},
    {.platform = "NVIDIA", .prefixes = {"CUDA_", "NV_"}},
    {.platform = "Intel",
     .prefixes = {"IGC_", "NEO", "CL_CONFIG_", "SYCL_"},
     .libraries = {"libigc", "libigdfcl"}},
    {.platform = "AMD", .prefixes = {"AMD_", "GPU_", "HSA_", "ROC"}, .libraries = {"libamd_comgr"}},
};
constexpr Driver kUnknown{.platform = "", .prefixes = {"CL_", "OCL", "MESA_", "LLVM_"}};

}  // namespace

const Driver& driver_of(std::string_view platform_name) noexcept {
  for (const Driver& driver : kDrivers) {
    if (platform_name.find(driver.platform) != std::string_view::npos) return driver;
  }
  return kUnknown;
}

}  // namespace larder::opencl
