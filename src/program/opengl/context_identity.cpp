#include "program/opengl/context_identity.hpp"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <vector>

#include "base/file.hpp"
#include "base/hex.hpp"
#include "base/transfer.hpp"
#include "larder/driver_identity.hpp"
#include "recipe/canonical.hpp"

namespace larder::opengl {
namespace {

namespace fs = std::filesystem;

// The drivers proper, behind the libraries that programs are linked to.
constexpr std::string_view kDrivers[] = {"_dri.so", "libgallium", "libEGL_", "libGLX_", "libnvidia-"};

// Mesa's and its drivers', its options by their own names among them, and NVIDIA's.
constexpr std::string_view kPrefixes[] = {
    "MESA_",   "LIBGL_",    "GALLIUM_", "GALLIVM_", "LP_",     "DRAW_", "ST_",    "NIR_",   "TGSI_",
    "GLSL_",   "DRI_",      "AMD_",     "RADEON",   "R600_",   "R300_", "INTEL_", "IRIS_",  "CROCUS",
    "I915_",   "NOUVEAU",   "NV50_",    "NVC0_",    "NVFX_",   "FD_",   "IR3_",   "PAN_",   "BIFROST",
    "MIDGARD", "PANFROST",  "LIMA_",    "V3D_",     "VC4_",    "ETNA_", "VIRGL_", "ZINK_",  "D3D12_",
    "SVGA_",   "SOFTPIPE_", "ASAHI_",   "AGX_",     "PVR_",    "__GL_", "allow_", "force_", "disable_",
    "glsl_",   "mesa_",     "vs_",      "do_",      "ignore_",
};

// What says where a driver keeps its files and how it draws on a screen decides no program.
constexpr std::string_view kReadButHarmless[] = {
    "MESA_SHADER_CACHE_DIR",
    "MESA_SHADER_CACHE_MAX_SIZE",
    "MESA_SHADER_CACHE_DISABLE",
    "MESA_GLSL_CACHE_DIR",
    "MESA_GLSL_CACHE_MAX_SIZE",
    "MESA_GLSL_CACHE_DISABLE",
    "MESA_DISK_CACHE_SINGLE_FILE",
    "MESA_DISK_CACHE_DATABASE",
    "MESA_DISK_CACHE_READ_ONLY_FOZ_DBS",
    "MESA_LOG_FILE",
    "MESA_NO_ERROR",
    "LIBGL_DEBUG",
    "LIBGL_SHOW_FPS",
    "__GL_SHADER_DISK_CACHE",
    "__GL_SHADER_DISK_CACHE_PATH",
    "__GL_SHADER_DISK_CACHE_SIZE",
    "__GL_SHADER_DISK_CACHE_SKIP_CLEANUP",
    "__GL_SYNC_TO_VBLANK",
};

// Of what is in it; empty for a file that cannot be read or has nothing in it.
std::string digest_of(const fs::path& path) {
  FileSystem& files = FileSystem::posix();
  const File file(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY));
  struct stat status {};
  if (!file.is_open() || files.status(file.fd(), status) < 0 || status.st_size <= 0) return {};
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (read_fully(files, file.fd(), reinterpret_cast<std::byte*>(bytes.data()), bytes.size(), 0) != 0)
    return {};
  const canonical::Digest digest = canonical::digest_of(as_bytes(bytes));
  return to_hex(std::as_bytes(std::span(digest)));
}

// Mesa's drirc: files of a folder, of the machine and of the user, that turn options on for programs. They
// stand in every recipe, and one of Mesa's own alone has tens of kilobytes: by name and digest, a line each.
std::string driver_configuration() {
  std::vector<fs::path> paths;
  std::error_code ignored;
  const char* const folder = std::getenv("DRIRC_CONFIGDIR");
  const fs::path folders[] = {"/usr/share/drirc.d", folder == nullptr ? "" : folder};
  for (const fs::path& each : folders) {
    if (each.empty()) continue;
    for (const auto& file : fs::directory_iterator(each, ignored)) paths.push_back(file.path());
  }
  paths.emplace_back("/etc/drirc");
  if (const char* const home = std::getenv("HOME")) paths.push_back(fs::path(home) / ".drirc");
  std::sort(paths.begin(), paths.end());
  std::string all;
  for (const fs::path& path : paths) {
    const std::string digest = digest_of(path);
    if (!digest.empty()) all.append(path.filename().string()).append(" ").append(digest).append("\n");
  }
  return all;
}

bool compiles_for_processor(const std::string& renderer) {
  for (const char* const name : {"llvmpipe", "softpipe", "SWR", "SwiftShader"}) {
    if (renderer.find(name) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

DeviceIdentity context_identity(const ContextFacts& facts, const void* function) {
  DeviceIdentity identity;
  const auto add = [&](const char* name, std::string value) {
    identity.facts.emplace_back(name, std::move(value));
  };
  add("vendor", facts.vendor);
  add("renderer", facts.renderer);
  add("version", facts.version);
  add("language-version", facts.language_version);
  add("profile", std::to_string(facts.profile));
  add("flags", std::to_string(facts.flags));
  if (facts.vendor.empty() || facts.renderer.empty() || facts.version.empty())
    identity.why_not = "its context does not say whose it is";
  std::string build = library_identity(function, kDrivers);
  if (build.empty()) identity.why_not = "the build of its driver cannot be known";
  add("driver-build", std::move(build));
  if (compiles_for_processor(facts.renderer)) add("processor", processor_identity());
  add("environment", environment_identity(kPrefixes, kReadButHarmless));
  add("driver-configuration", driver_configuration());
  add("program", program_invocation_short_name);
  return identity;
}

}  // namespace larder::opengl
