// A FolderWalk looks at many paths, best in the order of their names, and has the kernel find each folder
// once: what lies in it is asked for by its name alone, and nothing below a folder that is not there. It
// answers what ::stat and ::open of the whole path would while no folder is put in another's place. For one
// thread; holds at most kDepthMax descriptors.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <string_view>

#include "format/file_closures.hpp"

namespace larder {

class FolderWalk {
 public:
  FolderWalk() = default;
  ~FolderWalk();
  FolderWalk(const FolderWalk&) = delete;
  FolderWalk& operator=(const FolderWalk&) = delete;

  // 0, or the error. A path is no longer than format::kClosurePathMax.
  int status(std::string_view path, struct stat& status) noexcept;
  // A descriptor to read from, the caller's; or the error, negative.
  int open(std::string_view path) noexcept;

 private:
  static constexpr std::size_t kDepthMax = 24;
  // The first `size` characters of deepest_.
  struct Folder {
    std::size_t size;
    int fd;
    int error;  // not 0: it is not there, and nothing below it
  };
  // Where a call begins, and what is left of the path from there.
  struct Place {
    int fd;
    int error;
    const char* rest;
  };
  Place place_of(std::string_view path) noexcept;
  const Folder* enter(std::string_view folder) noexcept;
  void leave() noexcept;

  std::array<Folder, kDepthMax> folders_;
  std::size_t depth_ = 0;
  char deepest_[format::kClosurePathMax + 1];
  char path_[format::kClosurePathMax + 1];
};

}  // namespace larder
