// Bytes as a file with a path, without a disk: for fuzz targets of what opens files.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace larder::fuzz {

class FileInMemory {
 public:
  FileInMemory(const std::uint8_t* data, std::size_t size) : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::fchmod(fd_, 0600) != 0 || ::write(fd_, data, size) != static_cast<ssize_t>(size))
      std::abort();
  }
  ~FileInMemory() { ::close(fd_); }
  FileInMemory(const FileInMemory&) = delete;
  FileInMemory& operator=(const FileInMemory&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

}  // namespace larder::fuzz
