#include "store/listing.hpp"

#include <dirent.h>
#include <fcntl.h>

#include <cerrno>
#include <cstring>

namespace larder {
namespace {

// What getdents64 writes: inode, offset, length of the record, type, name.
constexpr std::size_t kRecordSizeAt = 16;
constexpr std::size_t kNameAt = 19;

}  // namespace

Listing::Listing(Directory& directory, unsigned shard) noexcept : files_(directory.files()) {
  const int fd = directory.open_in_shard(shard, layout::shard_path(shard).c_str(), O_RDONLY | O_DIRECTORY);
  directory_ = File(files_, fd);
  error_ = fd < 0 && fd != -ENOENT ? fd : 0;
}

Listing::Listing(Directory& directory) noexcept : files_(directory.files()) {
  const int fd = files_.open_at(directory.fd(), ".", O_RDONLY | O_DIRECTORY);
  directory_ = File(files_, fd);
  error_ = fd < 0 ? fd : 0;
}

std::optional<std::string_view> Listing::next() noexcept {
  while (directory_.is_open()) {
    if (at_ >= end_) {
      const ssize_t got = files_.list(directory_.fd(), records_.data(), records_.size());
      if (got <= 0) {
        error_ = static_cast<int>(got);
        break;
      }
      at_ = 0;
      end_ = static_cast<std::size_t>(got);
    }
    const std::byte* const record = records_.data() + at_;
    std::uint16_t size = 0;
    std::memcpy(&size, record + kRecordSizeAt, sizeof size);
    const std::string_view name(reinterpret_cast<const char*>(record + kNameAt));
    at_ += size;
    if (name != "." && name != "..") return name;
  }
  return std::nullopt;
}

}  // namespace larder
