// ByteReader takes fields off the front of bytes that may be anything; ByteWriter puts them there. Both are
// little-endian. Used by the formats whose sizes stand in front of their fields.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

#include "format/little_endian.hpp"
#include "larder/bytes.hpp"

namespace larder::format {

class ByteReader {
 public:
  explicit ByteReader(BytesView rest) noexcept : rest_(rest) {}

  // False, and nothing taken, when there is not enough left.
  template <std::integral Integer>
  bool read(Integer& value) noexcept {
    BytesView bytes;
    if (!read(bytes, sizeof value)) return false;
    value = load<Integer>(bytes.data());
    return true;
  }
  bool read(BytesView& bytes, std::uint64_t size) noexcept {
    if (size > rest_.size()) return false;
    bytes = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return true;
  }
  bool read(std::string_view& text, std::uint64_t size) noexcept {
    BytesView bytes;
    if (!read(bytes, size)) return false;
    text = as_text(bytes);
    return true;
  }
  std::size_t left() const noexcept { return rest_.size(); }
  bool at_end() const noexcept { return rest_.empty(); }

 private:
  BytesView rest_;
};

template <std::integral Integer>
void append_integer(std::string& to, Integer value) {
  std::byte bytes[sizeof(Integer)];
  store(bytes, value);
  to.append(reinterpret_cast<const char*>(bytes), sizeof bytes);
}

}  // namespace larder::format
