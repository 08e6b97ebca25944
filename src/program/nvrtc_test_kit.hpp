// The libnvrtc that tests use: any that is on this machine. Debian's main section has none, so a test without
// one says so and is skipped.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace larder::testing {

struct NvrtcLibrary {
  std::string path;
  std::string include;  // CUDA's headers, with CUB below; empty: not here
  std::string why_not;
};

inline NvrtcLibrary find_nvrtc() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  std::vector<std::string> folders;
  for (const auto& each : fs::directory_iterator("/usr/local", ignored)) {
    if (each.path().filename().string().starts_with("cuda")) {
      folders.push_back(each.path().string() + "/lib");
      folders.push_back(each.path().string() + "/lib64");
    }
  }
  std::sort(folders.rbegin(), folders.rend());
  for (const char* const folder : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu"})
    folders.push_back(folder);
  NvrtcLibrary library{
      .path = {}, .include = {}, .why_not = "no libnvrtc on this machine (CUDA, or Debian's non-free)"};
  for (const std::string& folder : folders) {
    for (const auto& each : fs::directory_iterator(folder, ignored)) {
      if (!each.path().filename().string().starts_with("libnvrtc.so.")) continue;
      library.path = each.path().string();
      library.why_not.clear();
      const std::string include = fs::path(folder).parent_path().string() + "/include";
      if (fs::exists(include + "/cccl/cub/cub.cuh", ignored)) library.include = include;
      return library;
    }
  }
  if (void* const found = ::dlopen("libnvrtc.so", RTLD_NOW | RTLD_LOCAL)) {
    ::dlclose(found);
    return {.path = "libnvrtc.so", .include = {}, .why_not = {}};
  }
  return library;
}

inline const NvrtcLibrary& nvrtc_library() {
  static const auto* const library = new NvrtcLibrary(find_nvrtc());
  return *library;
}

}  // namespace larder::testing
