// What a Cache keeps as the product of one step of a build: the files it made, and what its command said. Or,
// in the place of those, why they count below one root only. Encode and decode, no I/O; any bytes may be
// decoded.
//
//   product  := version scope duration said_size said count made*
//   made     := form mode quick size bytes
//   version  := u8 = 1; scope := u8: 0 = anywhere, 1 = the product lies under a recipe with its root, and
//               `said` tells why
//   form     := u8: 0 = file, 1 = symbolic link (bytes are its text), 2 = depfile, which is no output
//   quick    := u64 low, u64 high: what the build calls the content of the output
//   duration, said_size, count := u32; mode := u16; size := u64
//
// Integers are little-endian. A product ends exactly where its sizes say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/checksum.hpp"
#include "larder/bytes.hpp"

namespace larder::format {

// Version history: 1 (first).
inline constexpr std::uint8_t kStepProductVersion = 1;

enum class MadeForm : std::uint8_t { file, link, depfile };

struct MadeFile {
  MadeForm form = MadeForm::file;
  std::uint16_t mode = 0;  // permissions
  Checksum quick{};
  BytesView bytes{};
};

// The views live as long as what they were decoded from.
struct StepProduct {
  bool is_elsewhere = false;
  std::uint32_t duration_ms = 0;
  std::string_view said{};
  std::vector<MadeFile> made{};  // outputs in the order of the manifest, then the depfile
};

// Throws std::bad_alloc, and std::length_error when what was said has 4 GiB or more.
std::string encode_step_product(const StepProduct& product);
// Nothing when `bytes` is not exactly what encode_step_product writes.
std::optional<StepProduct> decode_step_product(BytesView bytes);

}  // namespace larder::format
