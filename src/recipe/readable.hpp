// Bytes made readable, whatever they are: nothing that is written here can move a cursor, hide text or turn
// it round.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "larder/bytes.hpp"

namespace larder {

// Whether people would call it text: mostly printable characters, and no NUL.
bool is_readable(BytesView bytes) noexcept;

// `text` with control characters, invisible and direction-changing ones and what is no UTF-8 as \n, \x1b,
// \u{202e}. At most about `width` bytes of it from `from` on, "..." where something is left out.
std::string to_readable(std::string_view text, std::size_t from, std::size_t width);

// The same between quotes, with quotes and backslashes escaped.
std::string to_quoted(std::string_view text, std::size_t from, std::size_t width);

// "1 byte", "20480 bytes".
std::string to_size(std::uint64_t size);

}  // namespace larder
