// The lines in which two texts differ, with two lines around them, as people read them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace larder {

// One line of a diff: ' ' in both, '-' only before, '+' only after, '@' where a run of differing lines
// begins, '\\' where the line above it has no newline at its end.
struct DiffLine {
  char mark;
  std::string text;  // readable, without newline, of bounded length
};

// At most `lines_max` lines and a last '@' line that says that there is more. Texts that differ in very many
// lines are shown as one block. O((lines + size) × differing lines), the latter bounded.
std::vector<DiffLine> diff_lines(std::string_view before, std::string_view after, std::size_t lines_max);

// Where two texts begin to differ, and where they stop to, counted from their ends.
struct Span {
  std::size_t front;
  std::size_t back;
};
Span common_ends(std::string_view before, std::string_view after) noexcept;

// Whether people could take two texts for the same that are not: they differ in a few characters beyond
// ASCII, which may be one letter spelt in two ways, or come out the same where `from` is where they are shown
// from.
bool look_alike(std::string_view before, std::string_view after, std::size_t from, std::size_t width);

}  // namespace larder
