// Reads and writes that go on until all bytes are through, however little one system call takes. Any thread.
#pragma once

#include <cstdint>

#include "base/file_system.hpp"
#include "base/hot.hpp"
#include "larder/bytes.hpp"

namespace larder {

// 0 when `size` bytes were read, 1 when the file ended before, else minus errno.
LARDER_HOT int read_fully(FileSystem& files, int fd, std::byte* to, std::uint64_t size,
                          std::uint64_t offset) noexcept;

// 0, or minus errno; then some of it may be written.
int write_fully(FileSystem& files, int fd, BytesView bytes, std::uint64_t offset) noexcept;

}  // namespace larder
