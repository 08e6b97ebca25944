// What the store's tests share: a directory of their own, recipes, and the paths of entries.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "larder/events.hpp"
#include "store/layout.hpp"
#include "store/store.hpp"

namespace larder {

// A directory that is gone with its content when the object goes.
class ScratchDirectory {
 public:
  // In memory where the system has such a place: removing many files slows a disk down for minutes.
  ScratchDirectory() : path_(::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") {
    path_ += "/larder-test-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// fork() that does not fail: minus one given to kill() would mean every process of the user.
inline pid_t fork_process() {
  const pid_t child = ::fork();
  if (child < 0) std::abort();
  return child;
}

inline Recipe recipe_for(std::string_view name) {
  Recipe recipe("test-kind");
  recipe.add("name", name);
  return recipe;
}
inline Recipe recipe_for(int number) {
  return recipe_for(std::to_string(number));
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(const std::string& path, std::string_view content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

inline mode_t mode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode : 0;
}
inline bool exists(const std::string& path) {
  return mode_of(path) != 0;
}

inline std::size_t open_descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

// A store in a directory of its own, without the limits that the machine's disk would set, hearing its
// events.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest() {
    options_.root = scratch_.path() + "/root";
    options_.lock_directory = scratch_.path() + "/locks";
    options_.free_bytes_min = 0;
    auto subscription = subscribe([this](const Event& event) {
      const MutexLock lock(mutex_);
      events_.push_back({event.kind, event.reason, event.bytes, std::string(event.detail)});
    });
    if (subscription) subscription_ = std::move(*subscription);
  }

  std::unique_ptr<Store> open() {
    auto store = Store::open(options_);
    if (!store) ADD_FAILURE() << store.error().what;
    return store ? std::move(*store) : nullptr;
  }
  std::string version_path() const { return options_.root + "/v1"; }
  std::string shard_path(const Recipe& recipe) const {
    return version_path() + '/' + layout::shard_path(layout::shard_of(recipe.key())).c_str();
  }
  std::string entry_path(const Recipe& recipe) const {
    return version_path() + '/' + layout::entry_path(recipe.key()).c_str();
  }
  std::size_t count(EventKind kind) {
    const MutexLock lock(mutex_);
    std::size_t all = 0;
    for (const Heard& heard : events_) all += heard.kind == kind ? 1 : 0;
    return all;
  }
  // Names in the store that begin with `prefix`.
  std::vector<std::string> files_named(std::string_view prefix) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.root)) {
      const std::string name = entry.path().filename();
      if (name.compare(0, prefix.size(), prefix) == 0) found.push_back(entry.path());
    }
    return found;
  }

  struct Heard {
    EventKind kind;
    Reason reason;
    std::uint64_t bytes;
    std::string detail;
  };
  ScratchDirectory scratch_;
  StoreOptions options_;
  Mutex mutex_;
  std::vector<Heard> events_ GUARDED_BY(mutex_);
  Subscription subscription_;
};

// Of many sizes.
inline std::string product_of(int number) {
  return "product " + std::to_string(number) + std::string(static_cast<std::size_t>(number * 37 % 5000), 'p');
}

}  // namespace larder
