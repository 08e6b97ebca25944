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

}  // namespace larder::tool
