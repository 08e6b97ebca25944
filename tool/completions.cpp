// Completions for bash, zsh and fish, made from commands() and the settings table.
#include "tool/columns.hpp"
#include "tool/command.hpp"

namespace larder::tool {
namespace {

using settings::Kind;
using settings::Row;

void append_word(std::string& words, std::string_view word) {
  if (!words.empty()) words.push_back(' ');
  words.append(word);
}

// The words of a setting's flag, `on off` for a switch; empty when it takes any text.
std::string words_of(const Row& row) {
  return settings::choices_text(row);
}

std::string setting_flags() {
  std::string words;
  for (const Row& row : settings::table()) {
    append_word(words, settings::flag(row));
    if (row.kind == Kind::boolean) append_word(words, "--no-" + std::string(row.name));
  }
  return words;
}

std::string own_flags(const Command& command) {
  std::string words;
  for (const Argument& argument : command.arguments) {
    if (!argument.is_flag()) continue;
    append_word(words, argument.name);
    if (argument.letter != 0) append_word(words, std::string("-") + argument.letter);
  }
  if (command.has_json) append_word(words, kJsonArgument.name);
  return words;
}

// The first word that is no flag: choices of a positional argument, or names where the command knows them.
std::string own_words(const Command& command) {
  std::string words;
  for (const Argument& argument : command.arguments) {
    if (!argument.is_flag()) append_word(words, argument.choices);
  }
  if (command.name == "help") {
    for (const Command* other : commands()) append_word(words, other->name);
    append_word(words, "settings");
  }
  if (command.name == "config") {
    for (const std::string_view name : settings::names()) append_word(words, name);
  }
  return words;
}

std::string command_names() {
  std::string words;
  for (const Command* command : commands()) append_word(words, command->name);
  return words;
}

std::string shared_flags() {
  std::string words;
  for (const Argument& argument : shared_arguments()) append_word(words, argument.name);
  return words;
}

// A case arm per flag that takes a value from a set, a path or anything.
template <typename OnChoices, typename OnPath, typename OnText>
void each_value(const OnChoices& on_choices, const OnPath& on_path, const OnText& on_text) {
  for (const Row& row : settings::table()) {
    if (row.kind == Kind::boolean) continue;
    const std::string flag = settings::flag(row);
    if (row.kind == Kind::choice) {
      on_choices(flag, words_of(row));
    } else if (row.kind == Kind::path || row.kind == Kind::path_list) {
      on_path(flag);
    } else {
      on_text(flag);
    }
  }
  for (const Argument& argument : shared_arguments()) {
    if (argument.value.empty()) continue;
    const std::string flag(argument.name);
    argument.choices.empty() ? on_path(flag) : on_choices(flag, std::string(argument.choices));
  }
}

std::string bash() {
  std::string text =
      "# bash completion for larder, made by `larder completions bash`\n"
      "_larder() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= i\n"
      "  COMPREPLY=()\n"
      "  case $before in\n";
  std::string paths, texts;
  each_value(
      [&](const std::string& flag, const std::string& words) {
        text += "    " + flag + ") COMPREPLY=($(compgen -W '" + words + "' -- \"$word\")); return ;;\n";
      },
      [&](const std::string& flag) { paths += (paths.empty() ? "" : "|") + flag; },
      [&](const std::string& flag) { texts += (texts.empty() ? "" : "|") + flag; });
  text += "    " + paths + ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
  text += "    " + texts + ") return ;;\n  esac\n";
  text += "  for ((i = 1; i < COMP_CWORD; ++i)); do\n    case ${COMP_WORDS[i]} in\n      ";
  for (const Command* command : commands()) {
    text += (command == commands().front() ? "" : "|") + std::string(command->name);
  }
  text += ") command=${COMP_WORDS[i]}; break ;;\n    esac\n  done\n";
  text += "  local flags='" + shared_flags() + ' ' + setting_flags() + "' words=\n  case $command in\n";
  text += "    '') words='" + command_names() + "' ;;\n";
  for (const Command* command : commands()) {
    text += "    " + std::string(command->name) + ") words='" + own_words(*command) + "' flags=\"" +
            own_flags(*command) + " $flags\" ;;\n";
  }
  text +=
      "  esac\n"
      "  if [[ $word == -* ]]; then words=$flags; fi\n"
      "  if [[ -n $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\")); fi\n"
      "  if [[ ${#COMPREPLY[@]} -eq 0 && $word != -* ]]; then COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
      "}\n"
      "complete -F _larder larder\n";
  return text;
}

// For `'...'` in zsh and fish, where a quote cannot be escaped alike; the tables' texts need none.
std::string quotable(std::string_view text) {
  std::string clean;
  for (const char c : text) {
    if (c == '\'') continue;
    if (c == '[' || c == ']' || c == ':') clean.push_back('\\');
    clean.push_back(c);
  }
  return clean;
}

std::string without_quotes(std::string_view text) {
  std::string clean;
  for (const char c : text) {
    if (c != '\'') clean.push_back(c);
  }
  return clean;
}

std::string zsh() {
  std::string text =
      "#compdef larder\n"
      "# zsh completion for larder, made by `larder completions zsh`\n"
      "_larder() {\n"
      "  local -a settings=(\n";
  for (const Row& row : settings::table()) {
    const std::string help = '[' + quotable(row.help) + ']';
    if (row.kind == Kind::boolean) {
      text += "    '" + settings::flag(row) + help + "'\n    '--no-" + std::string(row.name) + help + "'\n";
    } else {
      const bool is_path = row.kind == Kind::path || row.kind == Kind::path_list;
      const std::string action = row.kind == Kind::choice ? '(' + words_of(row) + ')'
                                 : is_path                ? "_files"
                                                          : "";
      text += "    '" + settings::flag(row) + help + ':' + std::string(settings::name(row.kind)) + ':' +
              action + "'\n";
    }
  }
  for (const Argument& argument : shared_arguments()) {
    const std::string action =
        argument.choices.empty() ? "_files" : '(' + std::string(argument.choices) + ')';
    text += "    '" + std::string(argument.name) + '[' + quotable(argument.help) + ']' +
            (argument.value.empty() ? "" : ':' + std::string(argument.value) + ':' + action) + "'\n";
  }
  text += "  )\n  local -a commands=(\n";
  for (const Command* command : commands()) {
    text += "    '" + std::string(command->name) + ':' + quotable(command->summary) + "'\n";
  }
  text +=
      "  )\n"
      "  local context state state_descr line\n"
      "  typeset -A opt_args\n"
      "  _arguments -C $settings '1:command:->command' '*::argument:->argument' && return\n"
      "  case $state in\n"
      "    command) _describe command commands ;;\n"
      "    argument)\n"
      "      case $line[1] in\n";
  for (const Command* command : commands()) {
    text += "        " + std::string(command->name) + ") _arguments $settings";
    for (const Argument& argument : command->arguments) {
      if (!argument.is_flag()) continue;
      text += " '" + std::string(argument.name) + '[' + quotable(argument.help) + ']' +
              (argument.value.empty() ? "" : ':' + std::string(argument.value) + ":_files") + '\'';
    }
    if (command->has_json) text += " '--json[" + quotable(kJsonArgument.help) + "]'";
    const std::string words = own_words(*command);
    text += words.empty() ? " '*:file:_files'" : " '*:word:(" + words + ")'";
    text += " ;;\n";
  }
  text +=
      "      esac ;;\n"
      "  esac\n"
      "}\n"
      "if [ \"$funcstack[1]\" = _larder ]; then _larder \"$@\"; else compdef _larder larder; fi\n";
  return text;
}

std::string fish() {
  std::string text = "# fish completion for larder, made by `larder completions fish`\n";
  const std::string all = command_names();
  for (const Command* command : commands()) {
    text += "complete -c larder -f -n 'not __fish_seen_subcommand_from " + all + "' -a " +
            std::string(command->name) + " -d '" + without_quotes(command->summary) + "'\n";
    const std::string only =
        "complete -c larder -n '__fish_seen_subcommand_from " + std::string(command->name) + "' ";
    for (const Argument& argument : command->arguments) {
      if (!argument.is_flag()) continue;
      const std::string letter = argument.letter == 0 ? "" : std::string(" -s ") + argument.letter;
      text += only + "-l " + std::string(argument.name.substr(2)) + letter +
              (argument.value.empty() ? "" : " -r") + " -d '" + without_quotes(argument.help) + "'\n";
    }
    if (command->has_json) text += only + "-l json -d '" + without_quotes(kJsonArgument.help) + "'\n";
    const std::string words = own_words(*command);
    if (!words.empty()) text += only + "-f -a '" + words + "'\n";
  }
  for (const Row& row : settings::table()) {
    const std::string help = " -d '" + without_quotes(row.help) + "'\n";
    text += "complete -c larder -l " + std::string(row.name);
    if (row.kind == Kind::choice) text += " -x -a '" + words_of(row) + '\'';
    if (row.kind == Kind::path || row.kind == Kind::path_list) text += " -r -F";
    const bool takes_text = row.kind != Kind::choice && row.kind != Kind::boolean && row.kind != Kind::path &&
                            row.kind != Kind::path_list;
    if (takes_text) text += " -x";
    text += help;
    if (row.kind == Kind::boolean) text += "complete -c larder -l no-" + std::string(row.name) + help;
  }
  for (const Argument& argument : shared_arguments()) {
    text += "complete -c larder -l " + std::string(argument.name.substr(2));
    if (!argument.choices.empty())
      text += " -x -a '" + std::string(argument.choices) + '\'';
    else if (!argument.value.empty())
      text += " -r -F";
    text += " -d '" + without_quotes(argument.help) + "'\n";
  }
  return text;
}

int run_completions(Call& call) {
  const std::string_view shell = call.value("SHELL");
  call.console().out(shell == "bash" ? bash() : shell == "zsh" ? zsh() : fish());
  return kDone;
}

constexpr Argument kCompletionsArguments[] = {{"SHELL", "", "the shell", "bash zsh fish", true}};

}  // namespace

extern const Command kCompletionsCommand;
const Command kCompletionsCommand{"completions",
                                  "print completions for a shell",
                                  "Prints a script that completes commands, flags and words: `source "
                                  "<(larder completions bash)`, or write it where "
                                  "your shell looks for completions.",
                                  kCompletionsArguments,
                                  false,
                                  true,
                                  run_completions};

}  // namespace larder::tool
