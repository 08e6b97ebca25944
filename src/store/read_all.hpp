// Reads the beginning of an open file into memory.
#pragma once

#include <cstddef>
#include <vector>

#include "base/file_system.hpp"

namespace larder {

// The first `size` bytes of the file, or as many as could be read. Throws bad_alloc.
inline std::vector<std::byte> read_all(FileSystem& files, int fd, std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = files.read_at(fd, bytes.data() + have, bytes.size() - have, have);
    if (got <= 0) break;
    have += static_cast<std::size_t>(got);
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace larder
