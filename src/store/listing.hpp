// A Listing walks the names in one directory. Used by one thread; holds one descriptor while it lives.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "base/file.hpp"
#include "store/directory.hpp"

namespace larder {

class Listing {
 public:
  // A shard that is missing or not ours alone is empty.
  Listing(Directory& directory, unsigned shard) noexcept;
  // The names beside the shards.
  explicit Listing(Directory& directory) noexcept;
  // The names in an open directory.
  Listing(FileSystem& files, File directory) noexcept : files_(files), directory_(std::move(directory)) {}

  // The next name but "." and "..", valid until the next call; nothing at the end or after a failure.
  std::optional<std::string_view> next() noexcept;
  // False when a failure ended the walk: names are missing.
  bool is_complete() const noexcept { return error_ == 0; }
  // That failure, minus errno; 0 when there was none, also where there is no such shard.
  int error() const noexcept { return error_; }
  // False: there is no such shard, or it is not ours alone.
  bool is_open() const noexcept { return directory_.is_open(); }

 private:
  FileSystem& files_;
  File directory_;
  int error_ = 0;
  std::size_t at_ = 0;
  std::size_t end_ = 0;
  alignas(8) std::array<std::byte, 8192> records_;
};

}  // namespace larder
