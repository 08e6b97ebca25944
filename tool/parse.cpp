#include "tool/parse.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

#include "settings/suggest.hpp"
#include "settings/units.hpp"

namespace larder::tool {
namespace {

using settings::Kind;
using settings::Row;

// What CLI11 collects of one argument or setting.
struct Slot {
  CLI::Option* option = nullptr;
  std::vector<std::string> texts;
};

class Grammar {
 public:
  // Of the words, with switches joined to their values. What cannot be meant by any of them is left out: most
  // of what a short command costs is what CLI11 takes in of flags and commands that nobody said.
  explicit Grammar(std::span<const std::string> words);
  Parsed parse(std::span<const std::string> words, const std::string& working_dir);

 private:
  void add(CLI::App& app, const Argument& argument, Slot& slot);
  void take(const Argument& argument, const Slot& slot, Parsed& parsed) const;
  void take_setting(const Row& row, const std::string& text, const std::string& working_dir,
                    Parsed& parsed) const;
  void refuse_values_of_negatives(std::span<const std::string> words, Parsed& parsed) const;
  // What CLI11 refused, in words that help.
  Complaint complaint_of(const CLI::ParseError& error, std::span<const std::string> words) const;
  void refuse_extras(Parsed& parsed) const;

  CLI::App app_{"", "larder"};
  std::map<std::string_view, Slot> shared_;
  std::map<std::string_view, Slot> settings_;
  std::map<std::string_view, std::map<std::string_view, Slot>> commands_;
};

Grammar::Grammar(std::span<const std::string> words) {
  const auto is_word = [&](std::string_view text) {
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) { return word == text; });
  };
  const auto is_said = [&](const std::string& flag) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return word.starts_with(flag); });
  };
  app_.set_help_flag();
  app_.allow_extras();
  app_.require_subcommand(0, 1);
  for (const Argument& argument : shared_arguments()) add(app_, argument, shared_[argument.name]);
  for (const Row& row : settings::table()) {
    const std::string flag = settings::flag(row);
    if (!is_said(flag) && !is_said("--no-" + std::string(row.name))) continue;
    Slot& slot = settings_[row.name];
    if (row.kind == Kind::boolean) {
      slot.option = app_.add_flag(flag + "{on},--no-" + std::string(row.name) + "{off}", slot.texts, "");
    } else {
      slot.option = app_.add_option(flag, slot.texts)->expected(1)->allow_extra_args(false);
    }
    slot.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  for (const Command* command : commands()) {
    if (!is_word(command->name)) continue;
    CLI::App* sub = app_.add_subcommand(std::string(command->name));
    sub->set_help_flag();
    sub->allow_extras();
    sub->fallthrough();
    auto& slots = commands_[command->name];
    for (const Argument& argument : command->arguments) add(*sub, argument, slots[argument.name]);
    if (command->has_json) add(*sub, kJsonArgument, slots[kJsonArgument.name]);
  }
}

void Grammar::add(CLI::App& app, const Argument& argument, Slot& slot) {
  std::string name(argument.name);
  if (argument.letter != 0) name = std::string("-") + argument.letter + ',' + name;
  if (argument.is_flag() && argument.value.empty()) {
    slot.option = app.add_flag(name + "{}", slot.texts, "")->disable_flag_override();
  } else {
    slot.option = app.add_option(name, slot.texts);
    if (argument.is_repeated && !argument.is_flag()) {
      slot.option->expected(-1);
    } else {
      slot.option->expected(1)->allow_extra_args(false);
    }
  }
  slot.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void Grammar::take(const Argument& argument, const Slot& slot, Parsed& parsed) const {
  if (slot.option->count() == 0) {
    if (argument.is_required && !parsed.complaint) {
      const std::string name(parsed.command->name);
      parsed.complaint = {"larder " + name + " needs " + std::string(argument.name),
                          "there is no " + std::string(argument.name) + ": " + std::string(argument.help),
                          "see `larder help " + name + '`'};
    }
    return;
  }
  std::vector<std::string> choices;
  if (!argument.choices.empty()) {
    std::vector<std::string_view> words;
    std::string_view rest = argument.choices;
    while (!rest.empty()) {
      const std::size_t blank = rest.find(' ');
      words.push_back(rest.substr(0, blank));
      rest = blank == std::string_view::npos ? std::string_view() : rest.substr(blank + 1);
    }
    for (const std::string& text : slot.texts) {
      if (std::find(words.begin(), words.end(), text) != words.end() || parsed.complaint) continue;
      const std::string_view meant = settings::nearest_word(text, words);
      parsed.complaint = {
          std::string(argument.name) + " cannot be " + settings::quoted(text),
          "it is one of: " + std::string(argument.choices),
          meant.empty() ? "choose one of them" : "did you mean " + settings::quoted(meant) + '?'};
    }
  }
  auto& given = parsed.given[std::string(argument.name)];
  given = slot.texts;
  if (given.empty()) given.emplace_back();
}

void Grammar::take_setting(const Row& row, const std::string& text, const std::string& working_dir,
                           Parsed& parsed) const {
  std::string value = text;
  // A default would be used in its place, which is hardly what somebody meant who said a directory.
  if (value.empty() && (row.name == "dir" || row.name == "runtime-dir") && !parsed.complaint) {
    parsed.complaint = {settings::flag(row) + " cannot be set so", "the path is empty",
                        "name a directory, or leave " + settings::flag(row) + " out"};
    return;
  }
  const bool is_path = row.kind == Kind::path && !value.empty();
  if (is_path && value[0] != '/' && !working_dir.empty()) value = working_dir + '/' + value;
  const Result<void> set = settings::set_value(row, value, parsed.said);
  if (set || parsed.complaint) return;
  const std::string& what = set.error().what;
  const std::size_t why = what.find(": ") + 2;
  const std::size_t advice = what.rfind("; ");
  parsed.complaint = {settings::flag(row) + " cannot be set so", what.substr(why, advice - why),
                      advice == std::string::npos ? "see `larder help settings`" : what.substr(advice + 2)};
}

void Grammar::refuse_extras(Parsed& parsed) const {
  const std::vector<std::string> extras = app_.remaining(true);
  if (extras.empty() || parsed.complaint) return;
  const std::string& extra = extras.front();
  std::vector<std::string> known;
  std::string noun = "command";
  if (extra.starts_with("-")) {
    noun = "flag";
    for (const Argument& argument : shared_arguments()) known.emplace_back(argument.name);
    if (parsed.command != nullptr) {
      for (const Argument& argument : parsed.command->arguments) {
        if (argument.is_flag()) known.emplace_back(argument.name);
      }
      if (parsed.command->has_json) known.emplace_back(kJsonArgument.name);
    }
    for (const Row& row : settings::table()) known.push_back(settings::flag(row));
  } else if (parsed.command == nullptr) {
    for (const Command* command : commands()) known.emplace_back(command->name);
  } else {
    const std::string name(parsed.command->name);
    parsed.complaint = {"larder " + name + " has no use for " + settings::quoted(extra),
                        "it takes no further arguments", "see `larder help " + name + '`'};
    return;
  }
  const std::vector<std::string_view> words(known.begin(), known.end());
  const std::string typed = extra.substr(0, extra.find('='));
  const std::string_view meant = settings::nearest_word(typed, words);
  std::string help = "see `larder help`";
  if (noun == "flag" && parsed.command != nullptr)
    help = "see `larder help " + std::string(parsed.command->name) + '`';
  parsed.complaint = {"there is no " + noun + ' ' + settings::quoted(typed), "",
                      meant.empty() ? help : "did you mean " + settings::quoted(meant) + '?'};
}

// CLI11 takes `--no-preload=on` for on.
void Grammar::refuse_values_of_negatives(std::span<const std::string> words, Parsed& parsed) const {
  for (const std::string& word : words) {
    if (word == "--") return;
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || !word.starts_with("--no-") || parsed.complaint) continue;
    const std::string name = word.substr(5, equals - 5);
    if (settings::find(name) == nullptr) continue;
    parsed.complaint = {"--no-" + name + " takes no value", "it says off by itself",
                        "write --no-" + name + ", or --" + name + word.substr(equals)};
  }
}

// What may stand behind a switch as a word of its own. No digits: `larder show --preload 1` means a key.
bool is_switch_value(std::string_view word) noexcept {
  for (const std::string_view value : {"on", "off", "true", "false", "yes", "no"})
    if (word == value) return true;
  return false;
}

// Whether the word is the flag of a setting that is on or off, without its value.
bool is_bare_switch(std::string_view word) {
  if (!word.starts_with("--")) return false;
  const Row* const row = settings::find(word.substr(2));
  return row != nullptr && row->kind == Kind::boolean;
}

// `--memory off` as `--memory=off`: CLI11 would take the value for an argument of the command and switch on.
std::vector<std::string> with_joined_switches(std::span<const std::string> words) {
  std::vector<std::string> joined;
  bool is_over = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    is_over = is_over || words[i] == "--";
    joined.push_back(words[i]);
    if (is_over || i + 1 == words.size() || !is_bare_switch(words[i]) || !is_switch_value(words[i + 1]))
      continue;
    joined.back() += '=' + words[++i];
  }
  return joined;
}

Complaint Grammar::complaint_of(const CLI::ParseError& error, std::span<const std::string> words) const {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (word == "--") break;
    if (equals == std::string::npos || !word.starts_with("--")) continue;
    const std::string name = word.substr(0, equals);
    const auto takes_none = [&](const Argument& argument) {
      return argument.name == name && argument.is_flag() && argument.value.empty();
    };
    const auto shared = shared_arguments();
    bool is_it = std::any_of(shared.begin(), shared.end(), takes_none);
    for (const Command* command : commands()) {
      if (is_it || !commands_.contains(command->name)) continue;
      is_it = std::any_of(command->arguments.begin(), command->arguments.end(), takes_none) ||
              (command->has_json && takes_none(kJsonArgument));
    }
    if (is_it) {
      return {name + " takes no value", "it is on where it stands, and off where it does not",
              "write " + name + ", or leave it out"};
    }
  }
  return {"the command line does not fit", error.what(), "see `larder help`"};
}

Parsed Grammar::parse(std::span<const std::string> words, const std::string& working_dir) {
  Parsed parsed;
  try {
    // CLI11 takes them from the back.
    app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    parsed.complaint = complaint_of(error, words);
  }
  for (const Command* command : commands()) {
    if (commands_.contains(command->name) && app_.got_subcommand(std::string(command->name)))
      parsed.command = command;
  }
  for (const Argument& argument : shared_arguments()) take(argument, shared_.at(argument.name), parsed);
  if (parsed.given.find("--help") != parsed.given.end() ||
      parsed.given.find("--version") != parsed.given.end()) {
    parsed.complaint.reset();
    return parsed;
  }
  refuse_values_of_negatives(words, parsed);
  refuse_extras(parsed);
  if (parsed.command != nullptr) {
    const auto& slots = commands_.at(parsed.command->name);
    for (const Argument& argument : parsed.command->arguments)
      take(argument, slots.at(argument.name), parsed);
    if (parsed.command->has_json) take(kJsonArgument, slots.at(kJsonArgument.name), parsed);
  }
  for (const Row& row : settings::table()) {
    const auto said = settings_.find(row.name);
    if (said == settings_.end()) continue;
    for (const std::string& text : said->second.texts) take_setting(row, text, working_dir, parsed);
  }
  return parsed;
}

bool takes_value(std::string_view flag, const Command* command) {
  if (flag.find('=') != std::string_view::npos) return false;
  const auto is_it = [&](const Argument& argument) {
    return argument.name == flag && !argument.value.empty();
  };
  const auto shared = shared_arguments();
  if (std::any_of(shared.begin(), shared.end(), is_it)) return true;
  if (command != nullptr && std::any_of(command->arguments.begin(), command->arguments.end(), is_it))
    return true;
  for (const Row& row : settings::table())
    if (row.kind != Kind::boolean && settings::flag(row) == flag) return true;
  return false;
}

}  // namespace

std::span<const std::string> own_words(std::span<const std::string> words) {
  const Command* command = nullptr;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") return words.first(i);
    if (word.starts_with("-")) {
      const bool has_value = is_bare_switch(word) && i + 1 < words.size() && is_switch_value(words[i + 1]);
      if (has_value || takes_value(word, command)) ++i;
    } else if (command == nullptr) {
      command = find_command(word);
      if (command == nullptr) break;
    } else if (command->takes_command) {
      return words.first(i);
    }
  }
  return words.first(static_cast<std::size_t>(std::find(words.begin(), words.end(), "--") - words.begin()));
}

Parsed parse(std::span<const std::string> words, const std::string& working_dir) {
  const std::vector<std::string> joined = with_joined_switches(words);
  return Grammar(joined).parse(joined, working_dir);
}

}  // namespace larder::tool
