// File owns one open descriptor of a FileSystem. Movable; used by one thread at a time.
#pragma once

#include <utility>

#include "base/file_system.hpp"

namespace larder {

class File {
 public:
  File() noexcept = default;
  // Takes `fd` over when it is a descriptor; a negative one makes an empty File.
  File(FileSystem& files, int fd) noexcept : files_(&files), fd_(fd) {}
  ~File() { close(); }
  File(File&& other) noexcept : files_(other.files_), fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    if (this != &other) {
      close();
      files_ = other.files_;
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  bool is_open() const noexcept { return fd_ >= 0; }
  int fd() const noexcept { return fd_; }
  // Gives the descriptor away.
  int release() && noexcept { return std::exchange(fd_, -1); }
  // What close returned: on network and quota file systems a write may fail only here. 0 when nothing was
  // open.
  int close() noexcept { return fd_ >= 0 ? files_->close(std::exchange(fd_, -1)) : 0; }

 private:
  FileSystem* files_ = nullptr;
  int fd_ = -1;
};

}  // namespace larder
