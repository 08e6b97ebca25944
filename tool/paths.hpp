// Files that are named on the command line.
#pragma once

#include <string>
#include <string_view>

#include "tool/command.hpp"

namespace larder::tool {

inline std::string absolute(const Call& call, std::string_view path) {
  if (path.starts_with('/')) return std::string(path);
  return call.surroundings().working_dir + '/' + std::string(path);
}

}  // namespace larder::tool
