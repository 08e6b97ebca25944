// Bytes as people compare them.
#pragma once

#include <string>

#include "larder/bytes.hpp"

namespace larder {

// Two lower-case digits for each byte, in order.
inline std::string to_hex(BytesView bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const std::byte each : bytes) {
    hex.push_back(kDigits[std::to_integer<unsigned>(each) >> 4]);
    hex.push_back(kDigits[std::to_integer<unsigned>(each) & 15]);
  }
  return hex;
}

}  // namespace larder
