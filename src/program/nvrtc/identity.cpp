// Who a libnvrtc is: its version and build, the build of the built-in headers and device library that it
// loads with its first compilation, and what it reads of the environment.
#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "larder/compiler_options.hpp"
#include "larder/driver_identity.hpp"
#include "larder/nvrtc.hpp"
#include "program/library_file.hpp"
#include "program/nvrtc/functions.hpp"
#include "program/nvrtc/identity.hpp"

namespace larder::nvrtc {
namespace {

// Read by libnvrtc 13.0 during a compilation.
constexpr std::string_view kRead[] = {"NVRTC",         "NVVM_",        "NV_NVVM", "LIBNVVM_",
                                      "LLVM_OVERRIDE", "CAN_FINALIZE", "EDG_",    "CUDA_COMPILER"};
// Of these the product does not depend on any: how it takes turns with itself.
constexpr std::string_view kHarmless[] = {"NVRTC_INTERNAL_GLOBAL_LOCK", "NVRTC_DISABLE_CONCURRENT_NVVM",
                                          "LIBNVVM_DISABLE_CONCURRENT_API"};
// These make it write files.
constexpr const char* kWriting[] = {"DUMP_KNOBS_TO_FILE", "AS_SECURE_LOG_FILE"};

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

std::string path_of(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

// By its soname, as the loader would know it; or by its file's name. Not by dlopen, which looks for the file.
bool is_loaded(const std::string& name) {
  const auto is_it = [](dl_phdr_info* info, std::size_t, void* asked) {
    const char* const path = info->dlpi_name;
    if (path == nullptr || *path != '/') return 0;
    const std::string& sought = *static_cast<const std::string*>(asked);
    if (std::string_view(path).ends_with('/' + sought)) return 1;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      if (info->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
      const auto* const dynamic =
          reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
      ElfW(Addr) strings = 0;
      for (const auto* each = dynamic; each->d_tag != DT_NULL; ++each)
        if (each->d_tag == DT_STRTAB) strings = each->d_un.d_ptr;
      if (strings == 0) continue;
      if (strings < info->dlpi_addr) strings += info->dlpi_addr;
      for (const auto* each = dynamic; each->d_tag != DT_NULL; ++each)
        if (each->d_tag == DT_SONAME && sought == reinterpret_cast<const char*>(strings + each->d_un.d_val))
          return 1;
    }
    return 0;
  };
  return ::dl_iterate_phdr(is_it, const_cast<std::string*>(&name)) != 0;
}

// Where the loader would look first for what this library asks for: the folders that it, the program and the
// environment name, and its own.
std::vector<std::string> folders_of(const std::string& library) {
  std::vector<std::string> folders;
  void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (handle != nullptr) {
    Dl_serinfo size{};
    if (::dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
      std::vector<std::byte> room(size.dls_size);
      auto* const all = reinterpret_cast<Dl_serinfo*>(room.data());
      if (::dlinfo(handle, RTLD_DI_SERINFOSIZE, all) == 0 && ::dlinfo(handle, RTLD_DI_SERINFO, all) == 0) {
        for (unsigned i = 0; i < all->dls_cnt; ++i) folders.emplace_back(all->dls_serpath[i].dls_name);
      }
    }
    ::dlclose(handle);
  }
  const std::size_t slash = library.rfind('/');
  if (slash != std::string::npos) folders.push_back(library.substr(0, slash));
  return folders;
}

}  // namespace

std::string builtins_name(const std::string& library, int major, int minor) {
  const bool is_alternative = library.find("libnvrtc.alt.so") != std::string::npos;
  return std::string("libnvrtc-builtins").append(is_alternative ? ".alt.so." : ".so.") +
         std::to_string(major) + '.' + std::to_string(minor);
}

std::string loaded_builtins(const Functions& functions, const std::string& name) {
  const std::string_view also[] = {name};
  const std::string all = library_identity(reinterpret_cast<const void*>(functions.version), also);
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = all.find('\n', begin);
    if (all.compare(begin, name.size(), name) == 0) return all.substr(begin, end + 1 - begin);
    begin = end + 1;
  }
  return {};
}

std::string expected_builtins(const Functions& functions, const std::string& library,
                              const std::string& name) {
  if (is_loaded(name)) return loaded_builtins(functions, name);
  for (const std::string& folder : folders_of(library)) {
    const std::string path = folder + '/' + name;
    if (exists(path)) return library_file_line(path);
  }
  // By the loader's list: once it is loaded, it is what libnvrtc gets.
  if (::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL) == nullptr) return {};
  return loaded_builtins(functions, name);
}

}  // namespace larder::nvrtc

namespace larder {

NvrtcApi::NvrtcApi(const nvrtc::Functions& functions) : functions_(functions) {
  int major = 0;
  int minor = 0;
  functions_.version(&major, &minor);
  version_ = std::to_string(major) + '.' + std::to_string(minor);
  const void* const address = reinterpret_cast<const void*>(functions_.version);
  const std::string library = nvrtc::path_of(address);
  builtins_name_ = nvrtc::builtins_name(library, major, minor);
  builtins_build_ = nvrtc::expected_builtins(functions_, library, builtins_name_);
  library_build_ = library_identity(address);
  if (library_build_.empty()) why_not_ = "the build of its libnvrtc cannot be known";
  if (builtins_build_.empty()) why_not_ = "the build of its " + builtins_name_ + " cannot be known";
}

DeviceIdentity NvrtcApi::identity(Device device) const {
  DeviceIdentity identity;
  identity.why_not = why_not_;
  identity.facts.emplace_back("nvrtc", version_);
  identity.facts.emplace_back("nvrtc-build", library_build_);
  identity.facts.emplace_back("nvrtc-builtins-build", builtins_build_);
  identity.facts.emplace_back("architecture",
                              device.architecture == 0 ? "" : "sm_" + std::to_string(device.architecture));
  identity.facts.emplace_back("environment", environment_identity(nvrtc::kRead, nvrtc::kHarmless));
  for (const char* const name : nvrtc::kWriting) {
    if (std::getenv(name) != nullptr)
      identity.why_not = std::string(name) + " is set and makes NVRTC write a file";
  }
  // Options from the environment are NVRTC's to read; those that do more than compile do it whoever gave
  // them.
  if (const char* const more = std::getenv("NVRTC_APPEND_FLAGS")) {
    const CanonicalOptions options = canonicalise(more);
    if (!options.why_not.empty()) identity.why_not = "NVRTC_APPEND_FLAGS: " + options.why_not;
    if (options.names_folder) {
      std::error_code error;
      identity.facts.emplace_back(ingredient::kFolder, std::filesystem::current_path(error).string());
    }
  }
  return identity;
}

}  // namespace larder
