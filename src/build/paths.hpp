// Paths as manifests name them, and the table that gives each one a number.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace larder::build {

// Numbers of targets, steps and the like; kNone stands for none.
inline constexpr std::uint32_t kNone = ~std::uint32_t{0};
using TargetId = std::uint32_t;
using StepId = std::uint32_t;

// `path` without `.`, empty and resolvable `..` components, as manifests mean one file by several spellings.
// An empty path stays empty, one that names its own beginning becomes `.`. Symbolic links are not looked at.
void make_canonical(std::string& path);
bool is_canonical(std::string_view path) noexcept;

// Of `a/b`: `a`; of `a`: the empty path, which is the working directory; of `/a`: `/`.
std::string_view parent_of(std::string_view path) noexcept;

// What the system's packages installed lies below.
inline constexpr std::string_view kPackagesPlace = "/usr/";

// Empty when nothing can be said.
std::string working_directory();
// Where `path` leads, all links followed; empty when it leads nowhere.
std::string real_path(const char* path);

// Text that lives as long as the arena.
class Arena {
 public:
  std::string_view keep(std::string_view text);

 private:
  std::deque<std::string> blocks_;
};

// Numbers paths from 0 in the order of their first naming, and holds them: each in its block behind its
// length, a zero byte behind it. More than 4 GiB of them are more than the memory holds.
class PathTable {
 public:
  PathTable();
  // The number of `path`, or kNone.
  std::uint32_t find(std::string_view path) const noexcept;
  // As find; a new path gets the next number.
  std::uint32_t number(std::string_view path);
  // A zero byte stands behind it. Lives as long as the table.
  std::string_view operator[](std::uint32_t id) const noexcept {
    const char* at = blocks_[places_[id] >> kBlockBits].get() + (places_[id] & (kBlock - 1));
    std::size_t size = static_cast<unsigned char>(*at++);
    if (size == kIsLong) {
      std::memcpy(&size, at, sizeof size);
      at += sizeof size;
    }
    return {at, size};
  }
  std::size_t size() const noexcept { return places_.size(); }
  void reserve(std::size_t paths) { places_.reserve(paths); }

 private:
  static constexpr unsigned kBlockBits = 18;
  static constexpr std::size_t kBlock = std::size_t{1} << kBlockBits;  // longer paths have one of their own
  static constexpr std::size_t kIsLong = 255;  // stands before the length of a path of so many bytes or more
  struct Hash {
    std::size_t place;
    std::uint8_t tag;  // never 0
  };
  static Hash hash_of(std::string_view path) noexcept;
  std::size_t place_of(std::string_view path, Hash hash) const noexcept;
  std::uint32_t keep(std::string_view path);
  void grow();

  // Open addressing, at most four fifths full; a place whose tag is 0 is free.
  std::vector<std::uint8_t> tags_;
  std::vector<std::uint32_t> ids_;
  std::vector<std::uint32_t> places_;  // by number: block and where in it
  std::vector<std::unique_ptr<char[]>> blocks_;
  std::size_t used_ = kBlock;  // of the last block
};

}  // namespace larder::build
