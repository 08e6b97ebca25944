// A syntax error names the place in a text where it stopped making sense: file, line, the line itself, a
// caret and what was expected there.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "larder/result.hpp"

namespace larder::build {

// `text` is the whole file, `offset` the byte in it (at most its size) that was not as expected. The message:
//   build.ninja:3:11: expected `:` after the outputs
//   build foo bar
//             ^
// Long lines are cut around the caret; control characters stand as `?`.
Error syntax_error(std::string_view file, std::string_view text, std::size_t offset, std::string_view what);

}  // namespace larder::build
