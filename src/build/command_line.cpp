#include "build/command_line.hpp"

#include <algorithm>
#include <array>

namespace larder::build {
namespace {

constexpr std::array<std::string_view, 60> kShellWords = {
    ":",        ".",      "!",       "[",        "{",      "}",       "alias", "bg",     "break", "builtin",
    "case",     "cd",     "command", "continue", "do",     "done",    "echo",  "elif",   "else",  "esac",
    "eval",     "exec",   "exit",    "export",   "false",  "fc",      "fg",    "fi",     "for",   "function",
    "getopts",  "hash",   "if",      "in",       "jobs",   "kill",    "local", "printf", "pwd",   "read",
    "readonly", "return", "set",     "shift",    "source", "test",    "then",  "time",   "times", "trap",
    "true",     "type",   "typeset", "ulimit",   "umask",  "unalias", "unset", "until",  "wait",  "while"};

bool is_shell_word(std::string_view word) {
  return std::find(kShellWords.begin(), kShellWords.end(), word) != kShellWords.end();
}

// 0: part of a word; 1: blank; 2: quote or backslash; 3: means something to the shell.
constexpr std::array<unsigned char, 256> make_classes() {
  std::array<unsigned char, 256> classes{};
  for (const char c : {' ', '\t'}) classes[static_cast<unsigned char>(c)] = 1;
  for (const char c : {'\'', '"', '\\'}) classes[static_cast<unsigned char>(c)] = 2;
  for (const char c : {'|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '[', ']', '\n', '\0'})
    classes[static_cast<unsigned char>(c)] = 3;
  return classes;
}
constexpr std::array<unsigned char, 256> kClasses = make_classes();
unsigned class_of(char c) noexcept {
  return kClasses[static_cast<unsigned char>(c)];
}

// `: && COMMAND && :` without what does nothing.
std::string_view without_colons(std::string_view command) {
  constexpr std::string_view kFront = ": && ";
  constexpr std::string_view kBack = " && :";
  if (command.size() > kFront.size() + kBack.size() && command.starts_with(kFront) &&
      command.ends_with(kBack))
    return command.substr(kFront.size(), command.size() - kFront.size() - kBack.size());
  return command;
}

// Takes a quoted part at `at` into `word`; false when it needs the shell or does not end.
bool take_quoted(std::string_view command, std::size_t& at, std::string& word) {
  const char quote = command[at++];
  if (quote == '\\') {
    if (at == command.size() || command[at] == '\n') return false;
    word += command[at++];
    return true;
  }
  for (; at < command.size(); ++at) {
    char c = command[at];
    if (c == quote) {
      ++at;
      return true;
    }
    if (quote == '"') {
      if (c == '$' || c == '`') return false;
      if (c == '\\' && at + 1 < command.size()) {
        const char next = command[at + 1];
        if (next == '\n') return false;
        if (next == '$' || next == '`' || next == '"' || next == '\\') {
          c = next;
          ++at;
        }
      }
    }
    if (c == '\0') return false;
    word += c;
  }
  return false;
}

}  // namespace

std::optional<std::vector<std::string>> plain_words(std::string_view command) {
  command = without_colons(command);
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at < command.size()) {
    if (class_of(command[at]) == 1) {
      ++at;
      continue;
    }
    const char first = command[at];
    if (first == '#' || first == '~') return std::nullopt;
    std::string word;
    bool is_quoted = false;
    while (at < command.size() && class_of(command[at]) != 1) {
      const unsigned kind = class_of(command[at]);
      if (kind == 3) return std::nullopt;
      if (kind == 2) {
        is_quoted = true;
        if (!take_quoted(command, at, word)) return std::nullopt;
        continue;
      }
      const std::size_t begin = at;
      while (at < command.size() && class_of(command[at]) == 0) ++at;
      const std::string_view part = command.substr(begin, at - begin);
      // An assignment, or a tilde behind `=` or `:`, which shells look at in front of a command only.
      if (words.empty() && part.find_first_of("=~") != part.npos) return std::nullopt;
      word += part;
    }
    if (words.empty() && (word.empty() || (!is_quoted && is_shell_word(word)))) return std::nullopt;
    words.push_back(std::move(word));
  }
  if (words.empty()) return std::nullopt;
  return words;
}

std::optional<std::vector<std::vector<std::string>>> simple_commands(std::string_view command) {
  std::vector<std::vector<std::string>> all(1);
  bool is_file = false;  // the next word is one behind `<` or `>`
  for (std::size_t at = 0; at < command.size();) {
    const char c = command[at];
    const bool is_twice = at + 1 < command.size() && command[at + 1] == c;
    if (class_of(c) == 1) {
      ++at;
    } else if (c == ';' || ((c == '&' || c == '|') && is_twice)) {
      if (is_file || all.back().empty()) return std::nullopt;
      all.emplace_back();
      at += c == ';' ? 1 : 2;
    } else if (c == '<' || c == '>') {
      if (is_file || (c == '<' && is_twice)) return std::nullopt;
      at += is_twice ? 2 : 1;
      // Another way to write an open file's number: `2>&1`.
      if (at + 1 < command.size() && command[at] == '&' && command[at + 1] >= '0' && command[at + 1] <= '9')
        at += 2;
      else
        is_file = true;
    } else {
      if (class_of(c) == 3 || c == '#' || c == '~') return std::nullopt;
      std::string word;
      bool is_quoted = false;
      while (at < command.size() && class_of(command[at]) != 1) {
        const unsigned kind = class_of(command[at]);
        if (kind == 3 && std::string_view("&|;<>").find(command[at]) == std::string_view::npos)
          return std::nullopt;
        if (kind == 3) break;
        is_quoted |= kind == 2;
        if (kind == 2 ? !take_quoted(command, at, word) : (word += command[at++], false)) return std::nullopt;
      }
      const bool is_number = !is_quoted && word.size() == 1 && word[0] >= '0' && word[0] <= '9' &&
                             at < command.size() && (command[at] == '<' || command[at] == '>');
      if (all.back().empty() && word.find_first_of("=~") != word.npos) return std::nullopt;
      if (!is_file && !is_number) all.back().push_back(std::move(word));
      is_file = false;
    }
  }
  if (all.back().empty() && all.size() > 1) all.pop_back();
  if (is_file || all.back().empty()) return std::nullopt;
  return all;
}

std::vector<std::string_view> programs(std::string_view command) {
  std::vector<std::string_view> found;
  bool in_front = true;  // the next word is a command
  std::size_t at = 0;
  while (at < command.size()) {
    const char c = command[at];
    const unsigned kind = class_of(c);
    if (kind == 1) {
      ++at;
    } else if (kind == 3) {
      if (c == '|' || c == '&' || c == ';' || c == '(' || c == '\n') {
        // `2>&1` and `>&2` begin no command.
        in_front = !(c == '&' && at > 0 && (command[at - 1] == '>' || command[at - 1] == '<'));
      } else if (c == '<' || c == '>') {
        in_front = false;
      }
      ++at;
    } else if (kind == 2) {
      std::string unused;
      const std::size_t begin = at;
      if (!take_quoted(command, at, unused)) at = std::max(at, begin + 1);
      in_front = false;
    } else {
      const std::size_t begin = at;
      while (at < command.size() && class_of(command[at]) == 0) ++at;
      if (!in_front) continue;
      const std::string_view word = command.substr(begin, at - begin);
      const bool is_whole = at == command.size() || class_of(command[at]) != 2;
      if (word.find('=') != word.npos) continue;  // an assignment; the command follows
      in_front = word == "then" || word == "else" || word == "do" || word == "if" || word == "while" ||
                 word == "!" || word == "exec" || word == "command" || word == "time" || word == "{";
      if (is_whole && !is_shell_word(word) && std::find(found.begin(), found.end(), word) == found.end())
        found.push_back(word);
    }
  }
  return found;
}

std::vector<std::string_view> variables(std::string_view command) {
  std::vector<std::string_view> found;
  for (std::size_t dollar = command.find('$'); dollar != command.npos;
       dollar = command.find('$', dollar + 1)) {
    std::size_t begin = dollar + 1;
    if (begin < command.size() && command[begin] == '{') ++begin;
    std::size_t end = begin;
    const auto is_name = [&](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
             (end != begin && c >= '0' && c <= '9');
    };
    while (end < command.size() && is_name(command[end])) ++end;
    if (end != begin) found.push_back(command.substr(begin, end - begin));
  }
  return found;
}

bool is_tool_of_ninja(std::string_view command) {
  if (command.find("ninja") == std::string_view::npos) return false;
  const auto words = plain_words(command);
  if (!words || words->empty()) return false;
  const std::string_view program = std::string_view(words->front()).substr(words->front().rfind('/') + 1);
  return (program == "ninja" || program == "ninja-build") &&
         std::find(words->begin(), words->end(), "-t") != words->end();
}

}  // namespace larder::build
