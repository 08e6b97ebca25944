#include "options.hpp"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/LineIterator.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdlib>

namespace larder::plugin {

using llvm::StringRef;

namespace {

bool complain(llvm::Module& module, const llvm::Twine& what) {
  module.getContext().emitError("larder-reuse: " + what);
  return false;
}

// One function a line; # begins a comment.
bool read_list(llvm::Module& module, StringRef path, llvm::StringSet<>& names) {
  const auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file) return complain(module, path + ": " + file.getError().message());
  for (llvm::line_iterator line(**file, /*SkipBlanks=*/true, '#'); !line.is_at_eof(); ++line) {
    const StringRef name = line->split('#').first.trim();
    if (name.empty()) continue;
    if (name.find_first_of(" \t,;") != StringRef::npos)
      return complain(module, path + ":" + llvm::Twine(line.line_number()) + ": '" + name +
                                  "' is not the name of a function: one name a line, no arguments");
    names.insert(name);
  }
  return true;
}

std::string profile_key(StringRef name, uint64_t fingerprint) {
  return (name + "\t" + llvm::Twine(fingerprint)).str();
}

bool read_profile(llvm::Module& module, StringRef path, Options& options) {
  const auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file) return complain(module, path + ": " + file.getError().message());
  for (llvm::line_iterator line(**file, /*SkipBlanks=*/true, '#'); !line.is_at_eof(); ++line) {
    reuse::ProfileLine run;
    if (!reuse::read_profile_line({line->data(), line->size()}, run))
      return complain(module, path + ":" + llvm::Twine(line.line_number()) +
                                  ": not a line of a reuse profile: run the program again with a fresh file");
    const StringRef name(run.name.data(), run.name.size());
    options.profiled.insert(name);
    run.name = {};
    const auto [known, is_first] = options.profile.insert({profile_key(name, run.fingerprint), run});
    if (!is_first) reuse::add_run(known->second, run);
  }
  return true;
}

bool read_switch(llvm::Module& module, StringRef name, StringRef value, bool& option) {
  if (value != "on" && value != "off")
    return complain(module, "LARDER_REUSE_OPTIONS: " + name + " is 'on' or 'off', not '" + value + "'");
  option = value == "on";
  return true;
}

bool read_one(llvm::Module& module, StringRef name, StringRef value, Options& options) {
  if (name == "globals") return read_switch(module, name, value, options.has_globals);
  if (name == "trust") return read_switch(module, name, value, options.has_trust);
  if (name == "sanitizers") return read_switch(module, name, value, options.has_sanitizers);
  if (name == "record") return read_switch(module, name, value, options.is_recording);
  if (name == "all") return read_switch(module, name, value, options.is_all);
  if (name == "deny") return read_list(module, value, options.denied);
  if (name == "allow") return read_list(module, value, options.allowed);
  if (name == "profile") return read_profile(module, value, options);
  if (name == "cost-min") {
    if (value.getAsInteger(10, options.cost_min))
      return complain(module, "LARDER_REUSE_OPTIONS: cost-min is a number, not '" + value + "'");
    return true;
  }
  if (name == "strategy") {
    const StringRef names[] = {"adaptive", "round_robin", "lru_vector", "lru_hash"};
    for (uint64_t i = 0; i < 4; ++i)
      if (value == names[i]) return options.strategy = i, true;
    return complain(module,
                    "LARDER_REUSE_OPTIONS: strategy is adaptive, round_robin, lru_vector or lru_hash, not '" +
                        value + "'");
  }
  return complain(module, "LARDER_REUSE_OPTIONS: no option '" + name + "'");
}

}  // namespace

const reuse::ProfileLine* Options::profile_of(StringRef name, uint64_t fingerprint) const {
  const auto found = profile.find(profile_key(name, fingerprint));
  return found == profile.end() ? nullptr : &found->second;
}

bool read_options(llvm::Module& module, Options& options) {
  const char* text = std::getenv("LARDER_REUSE_OPTIONS");
  if (text == nullptr) return true;
  llvm::SmallVector<StringRef, 8> parts;
  StringRef(text).split(parts, ',', -1, /*KeepEmpty=*/false);
  for (const StringRef part : parts) {
    const auto [name, value] = part.split('=');
    if (!read_one(module, name.trim(), value.trim(), options)) return false;
  }
  return true;
}

}  // namespace larder::plugin
