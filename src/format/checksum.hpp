// The checksum of everything larder keeps: XXH3-128, in the widest registers that the machine has.
// Any thread may call. It finds damage; it does not prove origin.
#pragma once

#include <cstdint>

#include "base/hot.hpp"
#include "larder/bytes.hpp"

namespace larder::format {

struct Checksum {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  friend bool operator==(const Checksum&, const Checksum&) = default;
};

LARDER_HOT Checksum checksum(BytesView bytes) noexcept;

// The same checksum over bytes that come in pieces.
class RunningChecksum {
 public:
  RunningChecksum() noexcept;
  void add(BytesView piece) noexcept;
  Checksum result() const noexcept;

 private:
  alignas(64) unsigned char state_[576];
};

}  // namespace larder::format
