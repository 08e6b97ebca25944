// The process's environment as it is when asked, for what is no setting of larder's: other programs'
// variables.
#pragma once

#include <cstdlib>
#include <string>

namespace larder::tool {

// Its value; empty when it is not set.
inline std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace larder::tool
