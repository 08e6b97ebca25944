// Every text that explains the command, made from commands() and the settings table.
#pragma once

#include <string>

#include "tool/command.hpp"

namespace larder::tool {

std::string overview();  // `larder help`
std::string command_help(const Command& command);
std::string settings_help();  // `larder help settings`
std::string man_page();       // man/larder.1
std::string settings_page();  // docs/settings.md
std::string version_line();

// `larder show [--json] KEY`
std::string usage(const Command& command);

}  // namespace larder::tool
