// A Directory is the pinned ROOT/v1 of a store: the descriptors that every path of the store is relative to,
// and the checks that nobody but the user could have written there. Any thread may call.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>

#include "base/file.hpp"
#include "base/file_system.hpp"
#include "base/hot.hpp"
#include "larder/recipe.hpp"
#include "larder/result.hpp"
#include "store/layout.hpp"

namespace larder {

class Directory {
 public:
  // Opens ROOT/v1, making what is missing unless `read_only`. refused: not the user's alone; io: the system's
  // no.
  LARDER_HOT static Result<std::unique_ptr<Directory>> open(FileSystem& files, const std::string& root,
                                                            bool read_only);

  // The descriptor of ROOT/v1. The same number for the life of this object.
  int fd() const noexcept { return version_.fd(); }
  // True when open() found nothing and made it.
  bool was_made() const noexcept { return was_made_; }
  // Counts how often the directory had to be made again.
  std::uint64_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  FileSystem& files() const noexcept { return files_; }
  uid_t user() const noexcept { return user_; }
  // Tells this directory from every other on this machine.
  std::uint64_t identity() const noexcept;

  // Opens `path` in the shard, through no symbolic link. Minus errno; -EPERM when the shard is not ours
  // alone.
  LARDER_HOT int open_in_shard(unsigned shard, const char* path, int flags, mode_t mode = 0) noexcept;
  // Makes the shard, and the root again when somebody removed it. 0 or minus errno.
  int make_shard(unsigned shard) noexcept;
  bool is_local() noexcept;

 private:
  LARDER_HOT Directory(FileSystem& files, std::string root, uid_t user) noexcept;
  // Opens root and version directory anew. The error's message says what to do.
  LARDER_HOT Result<int> open_version(bool make) noexcept;
  int make_root();
  LARDER_HOT int check_shard(unsigned shard) noexcept;

  FileSystem& files_;
  const std::string root_;
  const uid_t user_;
  File version_;
  bool was_made_ = false;
  std::array<std::atomic<bool>, layout::kShardCount> is_checked_{};
  std::atomic<bool> lacks_beneath_{false};
  std::atomic<bool> is_reopening_{false};
  std::atomic<std::uint64_t> epoch_{0};
  std::atomic<int> is_local_{-1};
};

}  // namespace larder
