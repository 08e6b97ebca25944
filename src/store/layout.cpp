#include "store/layout.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"

namespace larder::layout {
namespace {

constexpr std::size_t kNameSize = 30;
constexpr std::string_view kTemporaryPrefix = ".new-";
constexpr std::size_t kTemporarySize = kTemporaryPrefix.size() + 16;

LARDER_HOT char* put_hex(char* at, std::uint64_t value, int digits) noexcept {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    *at++ = "0123456789abcdef"[(value >> shift) & 15];
  return at;
}

char* put_text(char* at, std::string_view text) noexcept {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

bool is_hex(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return hex_digit(c) >= 0; });
}

}  // namespace

Path shard_path(unsigned shard) noexcept {
  Path path;
  *put_hex(path.text, shard, 2) = '\0';
  return path;
}

Path entry_path(const Key& key) noexcept {
  Path path;
  char* at = put_hex(path.text, key.high >> 56, 2);
  *at++ = '/';
  at = put_hex(at, key.high, 14);
  *put_hex(at, key.low, 16) = '\0';
  return path;
}

Path temporary_path(const Key& key, std::uint64_t unique) noexcept {
  Path path;
  char* at = put_hex(path.text, key.high >> 56, 2);
  *at++ = '/';
  at = put_text(at, kTemporaryPrefix);
  *put_hex(at, unique, 16) = '\0';
  return path;
}

Path shard_index_path(unsigned shard) noexcept {
  return path_in_shard(shard, kShardIndex);
}

Path damaged_path(const Key& key) noexcept {
  Path path;
  char* at = put_text(path.text, kDamaged);
  *at++ = '/';
  *put_hex(at, key.low, 1) = '\0';
  return path;
}

Path path_in_shard(unsigned shard, std::string_view name) noexcept {
  Path path;
  LARDER_ASSERT(name.size() + 4 <= sizeof path.text);
  char* at = put_hex(path.text, shard, 2);
  *at++ = '/';
  *put_text(at, name) = '\0';
  return path;
}

std::optional<Key> key_of(unsigned shard, std::string_view name) noexcept {
  if (name.size() != kNameSize || !is_hex(name)) return std::nullopt;
  Key key{shard, 0};
  for (std::size_t i = 0; i < 14; ++i) key.high = key.high << 4 | static_cast<unsigned>(hex_digit(name[i]));
  for (std::size_t i = 14; i < 30; ++i) key.low = key.low << 4 | static_cast<unsigned>(hex_digit(name[i]));
  return key;
}

bool is_temporary(std::string_view name) noexcept {
  return name.size() == kTemporarySize && name.substr(0, kTemporaryPrefix.size()) == kTemporaryPrefix &&
         is_hex(name.substr(kTemporaryPrefix.size()));
}

bool is_of_root(std::string_view name) noexcept {
  if (name == kTag || name == kAdopted) return true;
  return name.size() >= 2 && name.front() == 'v' &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace larder::layout
