#include "base/transfer.hpp"

#include <algorithm>
#include <cerrno>

namespace larder {
namespace {

// Linux moves at most 2 GiB less a page in one call.
constexpr std::size_t kMost = std::size_t{1} << 30;

}  // namespace

int read_fully(FileSystem& files, int fd, std::byte* to, std::uint64_t size, std::uint64_t offset) noexcept {
  while (size > 0) {
    const ssize_t got = files.read_at(fd, to, std::min<std::uint64_t>(size, kMost), offset);
    if (got < 0) return static_cast<int>(got);
    if (got == 0) return 1;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    size -= static_cast<std::uint64_t>(got);
  }
  return 0;
}

int write_fully(FileSystem& files, int fd, BytesView bytes, std::uint64_t offset) noexcept {
  while (!bytes.empty()) {
    const ssize_t wrote = files.write_at(fd, bytes.data(), std::min(bytes.size(), kMost), offset);
    if (wrote < 0) return static_cast<int>(wrote);
    if (wrote == 0) return -EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
    offset += static_cast<std::uint64_t>(wrote);
  }
  return 0;
}

}  // namespace larder
