// What a subcommand is: its name, arguments and help as data, and the function that runs it. Parser, help,
// man page and completions are made from these, so a subcommand is one file and one line in commands.cpp.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "settings/settings.hpp"
#include "tool/console.hpp"

namespace larder::tool {

// Exit codes of every subcommand; `run` alone passes its child's on.
inline constexpr int kDone = 0;   // yes, or done
inline constexpr int kNo = 1;     // an honest no
inline constexpr int kError = 2;  // wrong usage, or it could not be done
inline constexpr int kInterrupted = 130;

struct Argument {
  std::string_view name;          // `--dry-run`, or `KEY` for one without a flag
  std::string_view value;         // what follows a flag, `N` say; empty: nothing does
  std::string_view help;          // lower case, no full stop
  std::string_view choices = {};  // the words it may be, separated by blanks; empty: any
  bool is_required = false;
  bool is_repeated = false;
  char letter = 0;  // `n`: the flag is also `-n`

  bool is_flag() const noexcept { return name.starts_with("-"); }
};

class Call;

struct Command {
  std::string_view name;
  std::string_view summary;      // one line, lower case, no full stop
  std::string_view description;  // some sentences for its help and the man page
  std::span<const Argument> arguments;
  bool has_json = false;            // takes --json
  bool bears_bad_settings = false;  // runs although a setting does not fit
  int (*run)(Call&) = nullptr;
  std::string_view examples = {};  // command lines, one each
  bool takes_command = false;      // from the first word that is no flag on, all words are another program's
};

// In the order of the help. Names are unique.
std::span<const Command* const> commands() noexcept;
const Command* find_command(std::string_view name) noexcept;

// Flags that every subcommand takes besides the settings.
std::span<const Argument> shared_arguments() noexcept;
inline constexpr Argument kJsonArgument{"--json", "", "print one JSON object instead of text"};

// What was typed, by argument name; a flag without value holds one empty text.
using Given = std::map<std::string, std::vector<std::string>, std::less<>>;

// One run of a subcommand.
class Call {
 public:
  Call(const Command& command, Given given, const settings::Settings& settings,
       const settings::Surroundings& surroundings, Console& console)
      : command_(command),
        given_(std::move(given)),
        settings_(settings),
        surroundings_(surroundings),
        console_(console) {}

  bool has(std::string_view argument) const { return given_.find(argument) != given_.end(); }
  // The first value; empty when it was not given.
  std::string_view value(std::string_view argument) const {
    const auto found = given_.find(argument);
    return found == given_.end() || found->second.empty() ? std::string_view() : found->second.front();
  }
  std::vector<std::string> values(std::string_view argument) const {
    const auto found = given_.find(argument);
    return found == given_.end() ? std::vector<std::string>() : found->second;
  }
  bool wants_json() const { return has("--json"); }
  const Command& command() const noexcept { return command_; }
  const settings::Settings& settings() const noexcept { return settings_; }
  const Options& options() const noexcept { return settings_.values; }
  const settings::Surroundings& surroundings() const noexcept { return surroundings_; }
  Console& console() const noexcept { return console_; }

  // For what was typed and cannot be: says so in three lines and gives kError to return.
  int refuse(std::string what, std::string why, std::string advice) const {
    return console_.complain({std::move(what), std::move(why), std::move(advice)}), kError;
  }

 private:
  const Command& command_;
  Given given_;
  const settings::Settings& settings_;
  const settings::Surroundings& surroundings_;
  Console& console_;
};

// Parses and runs; the process's exit code. `words` is the command line without the program's name.
int run(std::span<const std::string> words, const settings::Surroundings& surroundings, Console& console);

}  // namespace larder::tool
