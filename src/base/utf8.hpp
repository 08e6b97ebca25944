// UTF-8, strictly: no overlong forms, no surrogates, nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace larder {

// The length of the sequence at the front of `text`, which must not be empty; 0: there is none.
inline std::size_t utf8_sequence_size(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4 || !continues(1)) return 0;
  if (first < 0xe0) return 2;
  if (!continues(2)) return 0;
  if (first < 0xf0) {
    const bool is_overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool is_surrogate = first == 0xed && byte(1) > 0x9f;
    return is_overlong || is_surrogate ? 0 : 3;
  }
  const bool is_overlong = first == 0xf0 && byte(1) < 0x90;
  const bool is_beyond = first == 0xf4 && byte(1) > 0x8f;
  return !continues(3) || is_overlong || is_beyond ? 0 : 4;
}

// The character of a sequence whose size utf8_sequence_size gave.
inline char32_t utf8_character(std::string_view sequence) noexcept {
  constexpr unsigned kLead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t character = static_cast<unsigned char>(sequence.front()) & kLead[sequence.size()];
  for (const char next : sequence.substr(1)) {
    character = character << 6 | (static_cast<unsigned char>(next) & 0x3f);
  }
  return character;
}

}  // namespace larder
