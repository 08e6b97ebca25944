// Bytes as people compare them.
#pragma once

#include <string>

#include "larder/bytes.hpp"

namespace larder {

// Two lower-case digits for each byte, in order.
inline std::string to_hex(BytesView bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(2 * bytes.size(), '0');
  char* to = hex.data();
  for (const std::byte each : bytes) {
    *to++ = kDigits[std::to_integer<unsigned>(each) >> 4];
    *to++ = kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return hex;
}

}  // namespace larder
