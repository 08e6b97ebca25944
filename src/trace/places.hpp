// Places are what paths lead to: with links followed as the kernel does, for the process that named them.
// Used by one thread at a time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/report.hpp"

namespace larder::trace {

struct Seen {
  Was kind = Was::missing;
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;
};
Seen see(const char* path) noexcept;

class Places {
 public:
  struct Place {
    std::string path;  // absolute, no link but perhaps at its end
    Seen seen;
    bool is_whole = true;            // not just the first part of it that is no directory
    std::vector<std::string> links;  // followed on the way
  };
  // Where `path`, an absolute one, leads the task `task`. Of one that leads nowhere, the first part that is
  // not there. `link_only`: a link at the end is the place.
  Place find(std::string_view path, bool link_only, pid_t task);
  // From now on directories and links may move: nothing is remembered any more.
  void distrust() noexcept {
    is_trusted_ = false;
    directories_.clear();
  }
  bool is_trusted() const noexcept { return is_trusted_; }
  // That `path` is the kernel's own name of a directory. PRECONDITION: is_trusted().
  void know_directory(const std::string& path) { directories_.try_emplace(path, path); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };
  bool find_directory(Place& place, std::string_view path, pid_t task);
  static void walk(Place& place, std::string rest, bool link_only, pid_t task);

  bool is_trusted_ = true;
  std::unordered_map<std::string, std::string, Hash, std::equal_to<>>
      directories_;  // as named, and their places; no links left
};

// What a link in /proc says; empty: nothing.
std::string read_link(const std::string& path);

}  // namespace larder::trace
