// What decides a step's outputs besides the files that it reads: the command, the content of its response
// file, the directory it runs in, and the environment variables in a fixed list and in the command's text.
// And the programs that the command names, which are files.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "build/content.hpp"
#include "build/manifest.hpp"

namespace larder::build {

// Variables whose values are ingredients of every command.
const std::vector<std::string>& environment_names();

class Ingredients {
 public:
  // `more` are names of variables besides those of the list.
  Ingredients(Manifest& manifest, const std::vector<std::string>& more);

  Digest command(std::string_view command, std::string_view response) const;
  // Names of the variables that decide what `command` makes, each once.
  std::vector<std::string> names(std::string_view command) const;
  // Files that the programs in `command` are found as, without those that a step makes. May number new
  // targets.
  void append_programs(std::string_view command, std::vector<TargetId>& targets);
  // Looks for programs anew: others may have come.
  void forget_programs() { resolved_.clear(); }

 private:
  TargetId resolve(std::string_view program);

  Manifest& manifest_;
  std::string surroundings_;  // directory and environment, canonical
  std::vector<std::string> more_;
  std::string path_;
  std::unordered_map<std::string, TargetId> resolved_;
  mutable std::string text_;
};

}  // namespace larder::build
