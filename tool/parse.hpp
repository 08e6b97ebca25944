// Reads a command line. What is allowed comes from commands() and the settings table.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "tool/command.hpp"

namespace larder::tool {

struct Parsed {
  const Command* command = nullptr;  // null: none was named
  Given given;
  Options said;  // settings that were said by flags
  std::optional<Complaint> complaint;
};

// `working_dir` makes relative paths in settings absolute.
Parsed parse(std::span<const std::string> words, const std::string& working_dir);

// Those in front of another program's: up to `--`, or up to the compiler's name in `cc --deny FILE clang
// -O2`.
std::span<const std::string> own_words(std::span<const std::string> words);

}  // namespace larder::tool
