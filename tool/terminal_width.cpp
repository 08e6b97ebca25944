#include "tool/terminal_width.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace larder::tool {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};
// As terminals of today have it: Unicode's blocks of wide characters, and of those that combine.
constexpr std::array<Range, 14> kWide{{{0x1100, 0x115F},
                                       {0x2E80, 0x303E},
                                       {0x3041, 0x33FF},
                                       {0x3400, 0x4DBF},
                                       {0x4E00, 0x9FFF},
                                       {0xA000, 0xA4CF},
                                       {0xA960, 0xA97F},
                                       {0xAC00, 0xD7A3},
                                       {0xF900, 0xFAFF},
                                       {0xFE30, 0xFE6F},
                                       {0xFF00, 0xFF60},
                                       {0xFFE0, 0xFFE6},
                                       {0x1F300, 0x1FAFF},
                                       {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 6> kCombining{{{0x0300, 0x036F},
                                           {0x1AB0, 0x1AFF},
                                           {0x1DC0, 0x1DFF},
                                           {0x200B, 0x200F},
                                           {0x20D0, 0x20FF},
                                           {0xFE00, 0xFE0F}}};

template <std::size_t N>
bool is_in(const std::array<Range, N>& ranges, char32_t point) noexcept {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const Range& range) { return point >= range.first && point <= range.last; });
}

struct Character {
  std::size_t bytes;
  std::size_t columns;
};

// PRECONDITION: `text` is not empty.
Character first_of(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  const std::size_t length = lead < 0x80             ? 1
                             : (lead & 0xE0) == 0xC0 ? 2
                             : (lead & 0xF0) == 0xE0 ? 3
                             : (lead & 0xF8) == 0xF0 ? 4
                                                     : 0;
  if (length <= 1 || length > text.size()) return {1, 1};
  char32_t point = lead & (0xFFu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {1, 1};
    point = point << 6 | (byte(i) & 0x3F);
  }
  return {length, is_in(kCombining, point) ? 0u : is_in(kWide, point) ? 2u : 1u};
}

}  // namespace

std::size_t terminal_columns(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character one = first_of(text);
    columns += one.columns;
    text.remove_prefix(one.bytes);
  }
  return columns;
}

std::size_t fitting_front(std::string_view text, std::size_t columns) noexcept {
  std::size_t bytes = 0;
  while (bytes < text.size()) {
    const Character one = first_of(text.substr(bytes));
    if (one.columns > columns) break;
    columns -= one.columns;
    bytes += one.bytes;
  }
  return bytes;
}

std::size_t fitting_back(std::string_view text, std::size_t columns) noexcept {
  std::size_t all = terminal_columns(text);
  std::size_t begin = 0;
  // A character that combines belongs to the one before it.
  while (begin < text.size()) {
    const Character one = first_of(text.substr(begin));
    if (all <= columns && one.columns != 0) break;
    all -= one.columns;
    begin += one.bytes;
  }
  return text.size() - begin;
}

}  // namespace larder::tool
