// How much of a text fits a line of a terminal. Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace larder::tool {

// How many columns UTF-8 takes there: two for wide characters, none for those that combine with what is
// before them, one for each byte that is no UTF-8.
std::size_t terminal_columns(std::string_view text) noexcept;
// How many bytes of its front, or of its back, are whole characters that fit so many columns.
std::size_t fitting_front(std::string_view text, std::size_t columns) noexcept;
std::size_t fitting_back(std::string_view text, std::size_t columns) noexcept;

}  // namespace larder::tool
