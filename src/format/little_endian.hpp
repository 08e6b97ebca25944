// Integers as they stand in every larder file: little-endian, at any address.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace larder::format {

template <std::integral Integer>
constexpr Integer little_endian(Integer value) noexcept {
  if constexpr (std::endian::native == std::endian::little || sizeof(Integer) == 1) {
    return value;
  } else {
    Integer swapped = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) {
      swapped = static_cast<Integer>((swapped << 8) | ((value >> (8 * i)) & 0xff));
    }
    return swapped;
  }
}

template <std::integral Integer>
Integer load(const std::byte* at) noexcept {
  Integer value;
  std::memcpy(&value, at, sizeof value);
  return little_endian(value);
}

template <std::integral Integer>
void store(std::byte* at, Integer value) noexcept {
  value = little_endian(value);
  std::memcpy(at, &value, sizeof value);
}

}  // namespace larder::format
