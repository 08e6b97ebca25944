// What a Cache keeps as the product of a GPU program: the pieces its API handed out, or the compiler's no.
// Encode and decode, no I/O; any bytes may be decoded.
//
//   product  := version verdict code log_size log count artefact*
//   artefact := name_size size name bytes
//   version  := u8 = 1; verdict := u8: 0 = built, 1 = the compiler said no
//   code := i64; log_size, name_size, count := u32; size := u64
//
// Integers are little-endian. A product ends exactly where its sizes say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/bytes.hpp"

namespace larder::format {

// Version history: 1 (first).
inline constexpr std::uint8_t kProgramProductVersion = 1;

struct ProgramPiece {
  std::string_view name;
  BytesView bytes;
};

// The views live as long as what they were decoded from.
struct ProgramProductView {
  bool is_failure = false;
  std::int64_t code = 0;
  std::string_view log{};
  std::vector<ProgramPiece> pieces{};
};

// Throws std::bad_alloc, and std::length_error for a log or name of 4 GiB or more.
std::string encode_program_product(const ProgramProductView& product);
// Nothing when `bytes` is not exactly what encode_program_product writes.
std::optional<ProgramProductView> decode_program_product(BytesView bytes);

}  // namespace larder::format
