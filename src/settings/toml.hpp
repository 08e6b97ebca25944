// Reads a config file: TOML, reduced to what settings can be: names with one value or a list of them.
// Pure; any thread. The fuzz target of the config parser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "larder/result.hpp"

namespace larder::settings {

// `name = value` as it stands in line `line`. `text` is the value as it would stand on a command line; for
// something that no setting can be, it is empty and `problem` says what it is.
struct Assignment {
  std::string name;
  std::string text;
  std::string problem;
  unsigned line = 0;
};

struct TomlError {
  std::string what;
  unsigned line = 0;
};

// In the order of the file. Any bytes may be given.
tl::expected<std::vector<Assignment>, TomlError> read_toml(std::string_view text);

}  // namespace larder::settings
