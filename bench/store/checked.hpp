// A product with its checksum in front, for peers that have no place of their own for one.
#pragma once

#include <cstring>
#include <string>
#include <string_view>

#include "format/checksum.hpp"

inline std::string with_checksum(std::string_view product) {
  const larder::format::Checksum sum = larder::format::checksum(larder::as_bytes(product));
  std::string all(sizeof sum, '\0');
  std::memcpy(all.data(), &sum, sizeof sum);
  return all.append(product);
}

inline std::int64_t checked_size(const void* bytes, std::size_t size) {
  larder::format::Checksum sum;
  if (size < sizeof sum) return -1;
  std::memcpy(&sum, bytes, sizeof sum);
  const auto* const product = static_cast<const std::byte*>(bytes) + sizeof sum;
  if (larder::format::checksum({product, size - sizeof sum}) != sum) return -1;
  return static_cast<std::int64_t>(size - sizeof sum);
}
