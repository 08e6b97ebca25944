#include "bench/memory/workload.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace larder::bench {

Stream::Stream(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0) {
    size_bytes_ = static_cast<std::size_t>(status.st_size);
    address_ = mmap(nullptr, size_bytes_, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
  }
  if (address_ == nullptr || address_ == MAP_FAILED) {
    std::perror(("map " + path).c_str());
    std::exit(2);
  }
  close(file);
}

Stream::~Stream() {
  munmap(address_, size_bytes_);
}

std::span<const std::uint32_t> Stream::of_thread(std::size_t thread) const {
  const std::size_t length = size_bytes_ / sizeof(std::uint32_t) / kThreadsMax;
  return {static_cast<const std::uint32_t*>(address_) + thread * length, length};
}

}  // namespace larder::bench
