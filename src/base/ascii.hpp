// Kinds of ASCII characters, whatever the locale. Any thread.
#pragma once

namespace larder {

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

}  // namespace larder
