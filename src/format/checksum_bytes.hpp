// A checksum as it stands in files: its low half, then its high one.
#pragma once

#include "format/checksum.hpp"
#include "format/little_endian.hpp"

namespace larder::format {

inline void store_checksum(std::byte* at, const Checksum& sum) noexcept {
  store(at, sum.low);
  store(at + 8, sum.high);
}

inline Checksum load_checksum(const std::byte* at) noexcept {
  return {load<std::uint64_t>(at), load<std::uint64_t>(at + 8)};
}

}  // namespace larder::format
