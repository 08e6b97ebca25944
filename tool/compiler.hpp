// Which plugin belongs to a compiler, and where larder's parts for it lie: next to the command, installed or
// in its build folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "larder/result.hpp"

namespace larder::tool {

// clang's major version, as `COMPILER --version` says it; an error for anything else.
Result<int> clang_version(const std::string& compiler);

struct ReuseParts {
  std::string plugin;
  std::string library;
};
// not_found when this larder has no plugin for the version; `what` names those it has.
Result<ReuseParts> reuse_parts(int version);

// What a compiler's arguments mean for value reuse.
struct Compilation {
  bool links = true;
  bool has_sanitizer = false;
  bool records_profile = false;  // an execution profile, of the compiler's own
};
Compilation read_compilation(const std::vector<std::string>& arguments);

}  // namespace larder::tool
