// Which files decided the products of one program: what a compiler read and what it looked for, as a Cache
// keeps it. A closure is the set of paths of one compilation; a program has as many as it had different ones.
// Encode and decode, no I/O; any bytes may be decoded.
//
//   closures := version file_count file* closure_count closure*
//   file     := path_size path device inode size mtime ctime quick digest
//   closure  := use_count use* key_count key*
//   use      := u32: number of the file, times two; plus one when it was read and not only looked for
//   version  := u8 = 1; counts and path_size := u32; device, inode, size := u64; mtime, ctime := i64
//   quick    := u64 low, u64 high: XXH3-128 of the content; digest := its BLAKE2b-256
//   key      := u64 high, u64 low
//
// Integers are little-endian. All of a stamp (device to ctime) zero: it proves nothing, the content is read.
// What lies behind a bound is no closures.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/checksum.hpp"
#include "larder/bytes.hpp"
#include "larder/recipe.hpp"

namespace larder::format {

// Version history: 1 (first).
inline constexpr std::uint8_t kFileClosuresVersion = 1;
inline constexpr std::uint32_t kFilesMax = 64 * 1024;  // of all closures of a program together
inline constexpr std::uint32_t kClosuresMax = 8;
inline constexpr std::uint32_t kClosureKeysMax = 8;
inline constexpr std::uint32_t kClosurePathMax = 4096;

// What tells that a file was not written since: a copy of parts of its status.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// A path, and the content that the file behind it had when it was last read.
struct KnownFile {
  std::string_view path{};
  FileStamp stamp{};
  Checksum quick{};
  std::array<unsigned char, 32> digest{};
  friend bool operator==(const KnownFile&, const KnownFile&) = default;
};

struct FileUse {
  std::uint32_t file = 0;
  bool is_read = false;
  friend bool operator==(const FileUse&, const FileUse&) = default;
};

struct FileClosure {
  std::vector<FileUse> uses{};
  std::vector<Key> keys{};  // of the products that were made with it, newest first
  friend bool operator==(const FileClosure&, const FileClosure&) = default;
};

// The views live as long as what they were decoded from. Newest closure first.
struct FileClosures {
  std::vector<KnownFile> files{};
  std::vector<FileClosure> closures{};
  friend bool operator==(const FileClosures&, const FileClosures&) = default;
};

// Throws std::bad_alloc. What exceeds a bound must not be given.
std::string encode_file_closures(const FileClosures& closures);
// Nothing when `bytes` is not exactly what encode_file_closures writes.
std::optional<FileClosures> decode_file_closures(BytesView bytes);

}  // namespace larder::format
