// Reads dyndep files: what became known of steps' inputs and outputs only while building.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "larder/result.hpp"

namespace larder::build {

struct DyndepEntry {
  std::string output;  // names the step
  std::vector<std::string> implicit_outputs;
  std::vector<std::string> implicit_inputs;
};

// Paths are canonical. `restat` is taken and says nothing: content decides of every step. `text` must be
// followed by a zero byte.
Result<std::vector<DyndepEntry>> read_dyndep(std::string_view file, std::string_view text);

}  // namespace larder::build
