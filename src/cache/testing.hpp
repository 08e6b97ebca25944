// What the tests of this floor share: a directory of their own and options that touch nothing else.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "larder/cache.hpp"

namespace larder::testing {

class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "larder-cache-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline Options options_in(const ScratchDirectory& scratch) {
  Options options;
  options.dir = scratch.path() + "/store";
  options.runtime_dir = scratch.path() + "/run";
  return options;
}

inline Recipe recipe_of(std::string_view name) {
  Recipe recipe("test");
  recipe.add("name", name);
  return recipe;
}

}  // namespace larder::testing
