// The cache file of Futhark programs, read for inspection: decode only, no I/O. Any thread may call.
//
//   file  := magic size key payload
//   magic := 8 bytes: "FUTHARK" and a zero                at  0
//   size  := i64, little-endian: bytes of the whole file  at  8
//   key   := 32 bytes: a hash over source and options     at 16
//   payload := bytes, to the end of the file              at 48
//
// It carries no checksum: a sound layout does not mean sound bytes.
#pragma once

#include <array>
#include <cstdint>

#include "larder/bytes.hpp"
#include "larder/event.hpp"

namespace larder::format {

inline constexpr std::size_t kFutharkHeaderSize = 48;

struct FutharkFile {
  std::uint64_t said_size = 0;
  std::array<std::uint8_t, 32> key{};
  BytesView payload;  // shows what was given
};

// True when the file begins as Futhark's do; `bytes` may be its beginning only.
bool is_futhark(BytesView bytes) noexcept;

// PRECONDITION: is_futhark(bytes). `bytes` is the file's beginning or all of it, `file_size` its length.
// none, truncated (shorter than it says), or corrupt (longer than it says).
Reason decode_futhark(BytesView bytes, std::uint64_t file_size, FutharkFile& file) noexcept;

}  // namespace larder::format
