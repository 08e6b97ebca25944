// Paths as manifests name them, and the table that gives each one a number.
#pragma once

#include <cstdint>
#include <deque>
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

// Numbers paths from 0 in the order of their first naming. Views given to it must outlive it.
class PathTable {
 public:
  PathTable();
  // The number of `path`, or kNone.
  std::uint32_t find(std::string_view path) const noexcept;
  // As find; a new path gets the next number and is kept as `keep(path)` gives it.
  template <typename Keep>
  std::uint32_t number(std::string_view path, const Keep& keep) {
    const std::uint32_t hash = hash_of(path);
    std::size_t place = place_of(path, hash);
    if (slots_[place].id != kNone) return slots_[place].id;
    if ((paths_.size() + 1) * 3 > slots_.size() * 2) {
      grow();
      place = place_of(path, hash);
    }
    const auto id = static_cast<std::uint32_t>(paths_.size());
    slots_[place] = {hash, id};
    paths_.push_back(keep(path));
    return id;
  }
  std::string_view operator[](std::uint32_t id) const noexcept { return paths_[id]; }
  std::size_t size() const noexcept { return paths_.size(); }
  void reserve(std::size_t paths) { paths_.reserve(paths); }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t id = kNone;
  };
  static std::uint32_t hash_of(std::string_view path) noexcept;
  std::size_t place_of(std::string_view path, std::uint32_t hash) const noexcept;
  void grow();

  std::vector<Slot> slots_;  // open addressing, at most two thirds full
  std::vector<std::string_view> paths_;
};

}  // namespace larder::build
