// What decides a step's outputs besides the files that it reads: the command, the content of its response
// file, the directory it runs in, and the environment variables in a fixed list and in the command's text.
// And the programs that the command names, which are files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "build/content.hpp"
#include "build/manifest.hpp"

namespace larder::build {

// Variables whose values are ingredients of every command.
const std::vector<std::string>& environment_names();

// Where a command's first word is found as a program, by PATH; empty: nowhere.
std::string find_program(std::string_view word);

class Ingredients {
 public:
  // `more` are names of variables besides those of the list.
  Ingredients(Manifest& manifest, const std::vector<std::string>& more);

  Digest command(std::string_view command, std::string_view response) const;
  // Of the directory and the environment that every command has. `more` as above.
  const Digest& surroundings() const noexcept { return digest_; }
  static Digest surroundings(const std::vector<std::string>& more);
  // What commands have named so far: variables, and programs with where they were found.
  const std::set<std::string, std::less<>>& named() const noexcept { return named_; }
  const std::map<std::string, std::string, std::less<>>& found() const noexcept { return found_; }
  // Commands that were not looked at named these.
  void also_named(const std::set<std::string, std::less<>>& variables) {
    named_.insert(variables.begin(), variables.end());
  }
  // Names of the variables that decide what `command` makes, each once.
  std::vector<std::string> names(std::string_view command) const;
  // Files that the programs in `command` are found as, without those that a step makes. May number new
  // targets.
  void append_programs(std::string_view command, std::vector<TargetId>& targets);
  // Looks for programs anew: others may have come.
  void forget_programs() {
    resolved_.clear();
    found_.clear();
  }

 private:
  TargetId resolve(std::string_view program);

  Manifest& manifest_;
  Digest digest_;  // of directory and environment
  std::vector<std::string> more_;
  std::map<std::string, TargetId, std::less<>> resolved_;
  std::map<std::string, std::string, std::less<>> found_;
  mutable std::set<std::string, std::less<>> named_;
  mutable std::string text_;
};

}  // namespace larder::build
