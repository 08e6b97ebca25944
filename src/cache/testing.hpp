// What the tests of this floor share: a directory of their own and options that touch nothing else.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "larder/cache.hpp"
#include "store/store.hpp"

namespace larder::testing {

// Nothing that goes well takes so long.
inline constexpr auto kLong = std::chrono::seconds(20);

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

// The store that a cache with these options keeps.
inline std::unique_ptr<Store> open_store(const ScratchDirectory& scratch) {
  StoreOptions options;
  options.root = scratch.path() + "/store";
  options.lock_directory = scratch.path() + "/run";
  auto store = Store::open(std::move(options));
  return store ? std::move(*store) : nullptr;
}

inline Recipe recipe_of(std::string_view name) {
  Recipe recipe("test");
  recipe.add("name", name);
  return recipe;
}

}  // namespace larder::testing
