// Reads depfiles: what a compiler writes for make about the files that it read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "larder/result.hpp"

namespace larder::build {

// The prerequisites of all rules in `text`, in their order, each as often as it stands there; not canonical.
// In names `\ `, `\#`, `\:` and `$$` stand for the second character, 2N+1 backslashes before a blank for N
// and the blank; any other backslash is itself. Rules without prerequisites say nothing. `file` is for
// messages.
Result<std::vector<std::string>> read_depfile(std::string_view file, std::string_view text);

}  // namespace larder::build
