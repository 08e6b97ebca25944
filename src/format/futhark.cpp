#include "format/futhark.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "format/little_endian.hpp"

namespace larder::format {
namespace {

constexpr char kFutharkMagic[8] = {'F', 'U', 'T', 'H', 'A', 'R', 'K', '\0'};

}  // namespace

bool is_futhark(BytesView bytes) noexcept {
  return bytes.size() >= sizeof kFutharkMagic &&
         std::memcmp(bytes.data(), kFutharkMagic, sizeof kFutharkMagic) == 0;
}

Reason decode_futhark(BytesView bytes, std::uint64_t file_size, FutharkFile& file) noexcept {
  LARDER_ASSERT(is_futhark(bytes));
  file = {};
  if (file_size < kFutharkHeaderSize || bytes.size() < kFutharkHeaderSize) return Reason::truncated;
  file.said_size = load<std::uint64_t>(bytes.data() + 8);
  std::memcpy(file.key.data(), bytes.data() + 16, file.key.size());
  file.payload = bytes.subspan(kFutharkHeaderSize);
  if (file.said_size == file_size) return Reason::none;
  return file.said_size > file_size ? Reason::truncated : Reason::corrupt;
}

}  // namespace larder::format
