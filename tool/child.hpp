// Programs that the command runs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "larder/result.hpp"

namespace larder::tool {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Runs `words` with these variables set besides the command's own, on the command's terminal. Gives what a
// shell would: its exit status, or 128 and the signal that ended it.
Result<int> run_child(const std::vector<std::string>& words, const Variables& variables);
// What `words` writes to its output; whatever its exit status.
Result<std::string> output_of(const std::vector<std::string>& words);

}  // namespace larder::tool
