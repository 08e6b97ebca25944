// How the plugin behaves, read from LARDER_REUSE_OPTIONS once per module: clang parses no options of plugins
// that it loads by -fpass-plugin. `larder cc` sets it.
#pragma once

#include <llvm/ADT/StringMap.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <optional>
#include <string>

#include "reuse/profile_line.hpp"

namespace larder::plugin {

struct Options {
  bool has_globals = true;      // globals that are only read join the key
  bool has_trust = false;       // __attribute__((const)) on a declaration is believed
  bool has_sanitizers = false;  // also in functions that a sanitizer instruments
  bool is_recording = false;    // every candidate counts for the profile
  bool is_all = false;          // no estimate: whatever is pure is memoized
  uint64_t cost_min = 60;       // of a body that does not call itself
  uint64_t strategy = 0;
  llvm::StringSet<> denied;   // functions, as the linker sees them or demangled without arguments
  llvm::StringSet<> allowed;  // memoized although they look cheap
  llvm::StringMap<reuse::ProfileLine> profile;  // by name and fingerprint; the names in it are empty
  llvm::StringSet<> profiled;                   // names in it

  const reuse::ProfileLine* profile_of(llvm::StringRef name, uint64_t fingerprint) const;
};

// What is wrong with the options, a list or the profile becomes an error of the compilation that names file
// and line; false then.
bool read_options(llvm::Module& module, Options& options);

}  // namespace larder::plugin
