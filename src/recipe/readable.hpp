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

// The same with every byte told apart: backslashes are escaped, and characters beyond ASCII are numbers. For
// texts that would look the same otherwise; from shortly before `place`, where what stands before is long.
std::string to_exact(std::string_view text, std::size_t place, std::size_t width);

// The same as to_readable between quotes, with quotes and backslashes escaped.
std::string to_quoted(std::string_view text, std::size_t from, std::size_t width);

// A name as it stands in a line: in quotes where it could be taken for something else.
std::string to_name(std::string_view name, std::size_t width);

// "1 byte", "20480 bytes".
std::string to_size(std::uint64_t size);

}  // namespace larder
