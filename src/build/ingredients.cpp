#include "build/ingredients.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "build/command_line.hpp"

namespace larder::build {
namespace {

void append_part(std::string& text, std::string_view part) {
  const std::size_t size = part.size();
  text.append(reinterpret_cast<const char*>(&size), sizeof size);
  text += part;
}

void append_variable(std::string& text, const std::string& name) {
  append_part(text, name);
  const char* const value = std::getenv(name.c_str());
  text += value == nullptr ? '-' : '+';
  if (value != nullptr) append_part(text, value);
}

bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

const std::vector<std::string>& environment_names() {
  static const auto& names = *new std::vector<std::string>{"AR",
                                                           "ARFLAGS",
                                                           "AS",
                                                           "ASFLAGS",
                                                           "CC",
                                                           "CFLAGS",
                                                           "COMPILER_PATH",
                                                           "CPATH",
                                                           "CPLUS_INCLUDE_PATH",
                                                           "CPP",
                                                           "CPPFLAGS",
                                                           "CXX",
                                                           "CXXFLAGS",
                                                           "C_INCLUDE_PATH",
                                                           "FC",
                                                           "FFLAGS",
                                                           "GCC_EXEC_PREFIX",
                                                           "LANG",
                                                           "LANGUAGE",
                                                           "LC_ALL",
                                                           "LC_COLLATE",
                                                           "LC_CTYPE",
                                                           "LC_MESSAGES",
                                                           "LC_NUMERIC",
                                                           "LC_TIME",
                                                           "LD",
                                                           "LDFLAGS",
                                                           "LD_LIBRARY_PATH",
                                                           "LD_PRELOAD",
                                                           "LIBRARY_PATH",
                                                           "LD_RUN_PATH",
                                                           "OBJC_INCLUDE_PATH",
                                                           "PATH",
                                                           "PKG_CONFIG_PATH",
                                                           "PYTHONPATH",
                                                           "RANLIB",
                                                           "RUSTFLAGS",
                                                           "SHELL",
                                                           "SOURCE_DATE_EPOCH",
                                                           "TZ",
                                                           "UMASK"};
  return names;
}

std::string find_program(std::string_view word) {
  if (word.find('/') != word.npos) {
    std::string path(word);
    return is_program(path) ? path : std::string();
  }
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    std::string candidate(rest.substr(0, colon));
    rest = colon == rest.npos ? std::string_view() : rest.substr(colon + 1);
    if (!candidate.empty()) candidate += '/';
    candidate += word;
    if (is_program(candidate)) return candidate;
  }
  return {};
}

Digest Ingredients::surroundings(const std::vector<std::string>& more) {
  std::string text;
  append_part(text, working_directory());
  for (const std::string& name : environment_names()) append_variable(text, name);
  std::vector<std::string> others = more;
  std::sort(others.begin(), others.end());
  for (const std::string& name : others) append_variable(text, name);
  return format::checksum(as_bytes(text));
}

Ingredients::Ingredients(Manifest& manifest, const std::vector<std::string>& more)
    : manifest_(manifest), digest_(surroundings(more)), more_(more) {
  std::sort(more_.begin(), more_.end());
}

Digest Ingredients::command(std::string_view command, std::string_view response) const {
  text_.assign(reinterpret_cast<const char*>(&digest_), sizeof digest_);
  append_part(text_, command);
  append_part(text_, response);
  if (command.find('$') != command.npos) {
    for (const std::string_view name : variables(command)) {
      append_variable(text_, std::string(name));
      if (named_.find(name) == named_.end()) named_.emplace(name);
    }
  }
  return format::checksum(as_bytes(text_));
}

std::vector<std::string> Ingredients::names(std::string_view command) const {
  std::vector<std::string> names = environment_names();
  names.insert(names.end(), more_.begin(), more_.end());
  for (const std::string_view name : variables(command)) names.emplace_back(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

TargetId Ingredients::resolve(std::string_view program) {
  if (const auto known = resolved_.find(program); known != resolved_.end()) return known->second;
  const std::string& found = found_.emplace(program, find_program(program)).first->second;
  const TargetId target = found.empty() ? kNone : manifest_.target(found);
  resolved_.emplace(program, target);
  return target;
}

void Ingredients::append_programs(std::string_view command, std::vector<TargetId>& targets) {
  for (const std::string_view program : programs(command)) {
    const TargetId target = resolve(program);
    if (target != kNone && manifest_.producer(target) == kNone) targets.push_back(target);
  }
}

}  // namespace larder::build
