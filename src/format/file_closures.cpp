#include "format/file_closures.hpp"

#include <cstring>

#include "format/byte_reader.hpp"

namespace larder::format {
namespace {

constexpr std::size_t kFileSizeMin = 4 + 5 * 8 + 16 + 32;

bool read_file(ByteReader& reader, KnownFile& file) {
  std::uint32_t path_size = 0;
  BytesView digest;
  FileStamp& stamp = file.stamp;
  if (!reader.read(path_size) || path_size == 0 || path_size > kClosurePathMax) return false;
  if (!reader.read(file.path, path_size) || file.path.find('\0') != std::string_view::npos) return false;
  if (!reader.read(stamp.device) || !reader.read(stamp.inode) || !reader.read(stamp.size) ||
      !reader.read(stamp.mtime_ns) || !reader.read(stamp.ctime_ns) || !reader.read(file.quick.low) ||
      !reader.read(file.quick.high) || !reader.read(digest, file.digest.size())) {
    return false;
  }
  std::memcpy(file.digest.data(), digest.data(), digest.size());
  return true;
}

bool read_closure(ByteReader& reader, std::size_t file_count, FileClosure& closure) {
  std::uint32_t count = 0;
  if (!reader.read(count) || count > kFilesMax || count > reader.left() / sizeof(std::uint32_t)) return false;
  closure.uses.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint32_t use = 0;
    if (!reader.read(use) || use / 2 >= file_count) return false;
    closure.uses.push_back({use / 2, use % 2 == 1});
  }
  if (!reader.read(count) || count > kClosureKeysMax) return false;
  for (std::uint32_t i = 0; i < count; ++i) {
    Key key;
    if (!reader.read(key.high) || !reader.read(key.low)) return false;
    closure.keys.push_back(key);
  }
  return true;
}

}  // namespace

std::string encode_file_closures(const FileClosures& closures) {
  std::string bytes;
  std::size_t size = 9;
  for (const KnownFile& file : closures.files) size += kFileSizeMin + file.path.size();
  for (const FileClosure& closure : closures.closures)
    size += 8 + 4 * closure.uses.size() + 16 * closure.keys.size();
  bytes.reserve(size);
  append_integer(bytes, kFileClosuresVersion);
  append_integer(bytes, static_cast<std::uint32_t>(closures.files.size()));
  for (const KnownFile& file : closures.files) {
    append_integer(bytes, static_cast<std::uint32_t>(file.path.size()));
    bytes += file.path;
    for (const std::uint64_t number : {file.stamp.device, file.stamp.inode, file.stamp.size})
      append_integer(bytes, number);
    for (const std::int64_t number : {file.stamp.mtime_ns, file.stamp.ctime_ns})
      append_integer(bytes, number);
    append_integer(bytes, file.quick.low);
    append_integer(bytes, file.quick.high);
    bytes.append(reinterpret_cast<const char*>(file.digest.data()), file.digest.size());
  }
  append_integer(bytes, static_cast<std::uint32_t>(closures.closures.size()));
  for (const FileClosure& closure : closures.closures) {
    append_integer(bytes, static_cast<std::uint32_t>(closure.uses.size()));
    for (const FileUse& use : closure.uses) append_integer(bytes, use.file * 2 + (use.is_read ? 1u : 0u));
    append_integer(bytes, static_cast<std::uint32_t>(closure.keys.size()));
    for (const Key& key : closure.keys) {
      append_integer(bytes, key.high);
      append_integer(bytes, key.low);
    }
  }
  return bytes;
}

std::optional<FileClosures> decode_file_closures(BytesView bytes) {
  ByteReader reader(bytes);
  FileClosures closures;
  std::uint8_t version = 0;
  std::uint32_t count = 0;
  if (!reader.read(version) || version != kFileClosuresVersion) return std::nullopt;
  // Counts are held against what is there before anything is allocated for them.
  if (!reader.read(count) || count > kFilesMax || count > reader.left() / kFileSizeMin) return std::nullopt;
  closures.files.resize(count);
  for (KnownFile& file : closures.files) {
    if (!read_file(reader, file)) return std::nullopt;
  }
  if (!reader.read(count) || count > kClosuresMax) return std::nullopt;
  closures.closures.resize(count);
  for (FileClosure& closure : closures.closures) {
    if (!read_closure(reader, closures.files.size(), closure)) return std::nullopt;
  }
  if (!reader.at_end()) return std::nullopt;
  return closures;
}

}  // namespace larder::format
