// Looks into a command as the shell would: which can be started without one, which programs it starts, which
// environment variables its text names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace larder::build {

// The words of a command that means nothing to a shell but words and quotes, so that it can be started
// without one: none for any that has other operators, expansions, globs, assignments or one of the shell's
// own commands in front.
// `: && COMMAND && :`, as CMake writes, is COMMAND.
std::optional<std::vector<std::string>> plain_words(std::string_view command);

// The words of each command in `command`, which may be `cd`, `echo` and the like of the shell's own: none for
// any that has more than words, quotes, `&&`, `||`, `;` and files behind `<`, `>` and `>>`, which are left
// out.
std::optional<std::vector<std::vector<std::string>>> simple_commands(std::string_view command);

// The first words of the commands in `command` that stand there unquoted, those of the shell itself left out;
// in the order of their coming, each once. What is hidden in quotes, variables or scripts is not found.
std::vector<std::string_view> programs(std::string_view command);

// Names behind `$` and `${` in `command`.
std::vector<std::string_view> variables(std::string_view command);

// Whether it asks ninja for one of its tools, as CMake's `clean` and `help` do: those make nothing.
bool is_tool_of_ninja(std::string_view command);

}  // namespace larder::build
