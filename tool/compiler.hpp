// Which plugin belongs to a compiler, where larder's parts for it lie (next to the command, installed or in
// its build folder), and what a compiler's arguments mean for value reuse.
#pragma once

#include <string>
#include <vector>

#include "larder/result.hpp"

namespace larder::tool {

// clang's major version; an error for anything else. Where LLVM's packages put it, its path says so; others
// are asked.
Result<int> clang_version(const std::string& compiler);
// Of a path such as /usr/lib/llvm-19/bin/clang; 0: it does not say.
int version_in(const std::string& path);

// A part of larder's called `name`, where an installed command finds it, else in its build folder; empty:
// nowhere.
std::string find_part(const std::string& name);

struct ReuseParts {
  std::string plugin;
  std::string library;
};
// Whether a plugin can be built for it.
bool has_plugin_source(int version);
// not_found when this larder has no plugin for the version; `what` names those it has.
Result<ReuseParts> reuse_parts(int version);

struct Compilation {
  bool links = false;
  bool has_sanitizer = false;
  bool records_profile = false;      // an execution profile, of the compiler's own
  bool ends_in_files_alone = false;  // behind `--`
};
// Reads response files (`@FILE`) as the compiler does; one that cannot be read is the compiler's to complain
// of.
Compilation read_compilation(const std::vector<std::string>& arguments);

// `text` split as compilers split a response file: at white space, with quotes and backslashes.
std::vector<std::string> response_words(std::string_view text);

}  // namespace larder::tool
