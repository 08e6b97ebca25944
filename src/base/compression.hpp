// Compression by zstd, which is looked for when it is first needed: linking it would cost every start a tenth
// of a millisecond, and few processes need it. Any thread may call; forked children may go on.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "larder/bytes.hpp"

namespace larder {

// Nothing when this machine has no zstd (libzstd.so.1), memory is out, or it would not save an eighth.
std::optional<std::string> compress(BytesView bytes) noexcept;

// Fills `out` exactly; false when `packed` is no zstd frame of so many bytes, or there is no zstd. Any bytes
// may be given: nothing is written beyond `out`.
bool decompress(BytesView packed, std::span<std::byte> out) noexcept;

namespace testing {
// As on a machine without zstd, from now on.
void hide_zstd(bool hide) noexcept;
}  // namespace testing

}  // namespace larder
