#include "program/adopted_driver.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <span>

#include "base/file.hpp"
#include "base/transfer.hpp"
#include "larder/driver_identity.hpp"
#include "program/filled.hpp"
#include "program/known_builds.hpp"
#include "program/library_file.hpp"
#include "program/mesa_records.hpp"

namespace larder {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVendors = "/etc/OpenCL/vendors";
constexpr std::string_view kMesa = "/dri/";

// PoCL's layout: XX/HASH/program.bc, XX/HASH/KERNEL/SHAPE/KERNEL.so; empty marks of time; files of its own
// making that it forgets to remove.
bool is_worth_keeping_of_pocl(std::string_view name, std::string_view bytes) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  if (bytes.empty() || last.starts_with("tempfile") || name.find('/') == std::string_view::npos) return false;
  if (last.ends_with(".so")) return is_whole_elf(bytes);
  return last == "program.bc" && bytes.starts_with("BC\xc0\xde");
}

std::string_view first_two_components(std::string_view name) {
  const std::size_t first = name.find('/');
  return name.substr(0, first == std::string_view::npos ? first : name.find('/', first + 1));
}

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Mesa's layout of many files: mesa_shader_cache/XX/HASH, 40 hexadecimal digits together, moved there when
// whole; `index`, which it rewrites in place, and unfinished `.tmp` files are its own. Each holds a checksum
// that Mesa checks. Its files of many records are another matter (program/mesa_records.hpp).
bool may_keep_of_mesa(std::string_view name) {
  constexpr std::string_view kFolder = "mesa_shader_cache/";
  if (!name.starts_with(kFolder)) return false;
  name.remove_prefix(kFolder.size());
  return name.size() == 41 && name[2] == '/' && is_hex(name.substr(0, 2)) && is_hex(name.substr(3));
}
bool is_worth_keeping_of_mesa(std::string_view name, std::string_view bytes) {
  return !bytes.empty() && may_keep_of_mesa(name);
}
// Two files that belong together, and the index beside them, go together.
std::string_view program_of_mesa(std::string_view name) {
  if (name.starts_with("mesa_shader_cache/") || kMesaRecords.is_record(name)) return name;
  return name.substr(0, name.rfind('/'));
}

// Intel's layout: HASH.cl_cache and HASH.l0_cache, 16 hexadecimal digits, moved there when whole.
bool is_worth_keeping_of_neo(std::string_view name, std::string_view bytes) {
  const std::size_t dot = name.find('.');
  if (bytes.empty() || dot != 16 || !is_hex(name.substr(0, dot))) return false;
  const std::string_view kind = name.substr(dot);
  return kind == ".cl_cache" || kind == ".l0_cache";
}

// The table of those that OpenCL's loader finds, by a part of their library's name.
struct OpenclDriver {
  std::string_view library;
  std::string_view name;
  std::string_view variable;
  std::string_view plugins;  // a folder beside the library, of what it loads by itself
  std::array<std::string_view, 3> brings;
  std::array<std::string_view, 3> prefixes;
  std::array<std::string_view, 3> harmless;
  bool (*is_worth_keeping)(std::string_view name, std::string_view bytes);
  std::string_view (*program_of)(std::string_view name);
  std::string_view also;
};

constexpr OpenclDriver kOpenclDrivers[] = {
    {"pocl",
     "pocl",
     "POCL_CACHE_DIR",
     "/pocl",
     {},
     {"POCL_"},
     {"POCL_CACHE_DIR", "POCL_DEBUG", "POCL_TRACING"},
     is_worth_keeping_of_pocl,
     first_two_components,
     ""},
    {"igdrcl",
     "neo",
     "NEO_CACHE_DIR",
     "",
     {"libigc.so.1", "libigdfcl.so.1"},
     {"NEO", "IGC_", "CL_CONFIG_"},
     {"NEO_CACHE_DIR", "NEO_CACHE_MAX_SIZE", "NEO_CACHE_PERSISTENT"},
     is_worth_keeping_of_neo,
     nullptr,
     "NEO_CACHE_PERSISTENT=1"},
};

constexpr std::string_view kMesaPrefixes[] = {"MESA_", "LP_",    "GALLIVM_", "RUSTICL_", "RADV_",  "AMD_",
                                              "ACO_",  "INTEL_", "NIR_",     "ST_",      "LIBGL_", "LVP_"};
constexpr std::string_view kMesaHarmless[] = {"MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_MAX_SIZE",
                                              "MESA_LOG_FILE", "MESA_DEBUG"};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string first_line_of(const std::string& path) {
  FileSystem& files = FileSystem::posix();
  const File file(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY));
  if (!file.is_open()) return {};
  std::string text(4096, '\0');
  const ssize_t size = files.read_at(file.fd(), text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text.substr(0, text.find_first_of("\r\n"));
}

void add_opencl(const std::string& icd, KnownBuilds& builds, std::vector<FoundDriver>& found) {
  const std::string name = first_line_of(icd);
  for (const OpenclDriver& row : kOpenclDrivers) {
    if (name.find(row.library) == std::string::npos) continue;
    const bool is_known_already = std::any_of(
        found.begin(), found.end(), [&](const FoundDriver& each) { return each.driver.name == row.name; });
    const std::string link = find_library(name);
    if (is_known_already || link.empty()) return;
    FoundDriver driver;
    driver.driver = {
        std::string(row.name), std::string(row.variable), {}, row.is_worth_keeping, row.program_of, {}};
    if (!row.also.empty()) driver.driver.also.emplace_back(row.also);
    std::error_code ignored;
    const std::string library = fs::canonical(link, ignored).string();
    const std::string beside = fs::path(library).parent_path().string();
    std::string build =
        builds.identity_of(library, row.plugins.empty() ? "" : beside + std::string(row.plugins));
    for (const std::string_view brings : filled(row.brings)) {
      const std::string path = find_library(brings);
      if (build.empty() || path.empty()) continue;
      const std::string more = builds.identity_of(path, "");
      build = more.empty() ? "" : build + more;
    }
    const std::string processor = processor_identity();
    if (build.empty() || processor.empty()) {
      driver.why_not = "its build cannot be known";
    } else {
      driver.driver.identity =
          build + processor + environment_identity(filled(row.prefixes), filled(row.harmless));
    }
    found.push_back(std::move(driver));
    return;
  }
}

// One for all of Mesa: OpenGL, Vulkan and OpenCL keep their files in the same place, under names that hold
// the build of whoever wrote them.
void add_mesa(const std::string& folder, KnownBuilds& builds, std::vector<FoundDriver>& found) {
  std::error_code ignored;
  // Most of the folder's names are links to the same few files.
  std::vector<std::string> libraries;
  for (const auto& each : fs::directory_iterator(folder, ignored)) {
    const std::string name = each.path().filename().string();
    if (name.ends_with("swrast_dri.so")) libraries.push_back(each.path().string());
  }
  for (const char* name :
       {"libvulkan_lvp.so", "libRusticlOpenCL.so.1", "libMesaOpenCL.so.1", "libgallium_dri.so"}) {
    const std::string path = find_library(name);
    if (!path.empty()) libraries.push_back(path);
  }
  if (libraries.empty()) return;
  std::sort(libraries.begin(), libraries.end());
  FoundDriver mesa;
  mesa.driver = {"mesa", "MESA_SHADER_CACHE_DIR", {}, is_worth_keeping_of_mesa, program_of_mesa, {}};
  mesa.driver.may_keep = may_keep_of_mesa;
  mesa.driver.records = &kMesaRecords;
  // Files that it only reads are looked for beside those that it writes.
  for (const char* other : {"MESA_DISK_CACHE_READ_ONLY_FOZ_DBS", "MESA_GLSL_CACHE_DIR",
                            "MESA_SHADER_CACHE_DISABLE", "MESA_GLSL_CACHE_DISABLE"}) {
    const std::string value = variable(other);
    if (!value.empty() && value != "0" && value != "false") {
      mesa.why_not = std::string(other) + " is set, and is left as it is";
    }
  }
  std::string identity;
  for (const std::string& library : libraries) {
    const std::string one = builds.identity_of(library, "");
    if (one.empty()) mesa.why_not = "the build of " + library + " cannot be known";
    identity += one;
  }
  const std::string processor = processor_identity();
  if (processor.empty()) mesa.why_not = "the processor cannot be known";
  mesa.driver.identity = identity + processor + environment_identity(kMesaPrefixes, kMesaHarmless);
  found.push_back(std::move(mesa));
}

// NVIDIA tells nobody how its files are laid out, and rewrites some of them in place.
void add_nvidia(const std::string& libraries, std::vector<FoundDriver>& found) {
  constexpr std::pair<const char*, const char*> kTable[] = {
      {"libcuda.so.1", "CUDA_CACHE_PATH"}, {"libGLX_nvidia.so.0", "__GL_SHADER_DISK_CACHE_PATH"}};
  for (const auto& [library, named_by] : kTable) {
    const std::string path =
        libraries.empty() ? find_library(library) : find_library(libraries + '/' + library);
    if (path.empty()) continue;
    const bool is_cuda = library == kTable[0].first;
    FoundDriver driver;
    driver.driver = {is_cuda ? "nvidia-cuda" : "nvidia-gl", named_by, {}, nullptr, nullptr, {}};
    driver.why_not = "how it lays out its files is not known, so its own place is left to it";
    found.push_back(std::move(driver));
  }
}

}  // namespace

std::vector<FoundDriver> find_drivers(const DriverPlaces& places, KnownBuilds* known) {
  KnownBuilds none;
  KnownBuilds& builds = known == nullptr ? none : *known;
  std::vector<FoundDriver> found;
  std::error_code ignored;
  std::vector<std::string> icds;
  const std::string vendors = places.vendors.empty() ? std::string(kVendors) : places.vendors;
  for (const auto& each : fs::directory_iterator(vendors, ignored)) {
    if (each.path().extension() == ".icd") icds.push_back(each.path().string());
  }
  std::sort(icds.begin(), icds.end());
  for (const std::string& icd : icds) add_opencl(icd, builds, found);
  std::string mesa = places.mesa;
  if (mesa.empty()) {
    std::string one = find_library("libGL.so.1");
    if (one.empty()) one = find_library("libc.so.6");
    mesa = one.substr(0, one.rfind('/')) + std::string(kMesa);
  }
  add_mesa(mesa, builds, found);
  add_nvidia(places.libraries, found);
  return found;
}

}  // namespace larder
