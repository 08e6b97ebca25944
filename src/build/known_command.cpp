#include "build/known_command.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "build/command_line.hpp"
#include "build/ingredients.hpp"
#include "build/known_flags.hpp"
#include "build/manifest.hpp"
#include "build/paths.hpp"

namespace larder::build {
namespace {

// They run the compiler that follows and pass on what it does.
constexpr std::array<std::string_view, 3> kLaunchers = {"ccache", "sccache", "distcc"};

// What a preprocessor makes of a word of a command line as it does of one in a file (build/file_proofs.hpp).
constexpr std::array<std::string_view, 5> kUnsureWords = {"__DATE__", "__TIME__", "__TIMESTAMP__",
                                                          "__has_include", "__has_embed"};
constexpr std::array<std::string_view, 6> kIncludes = {"-isystem", "-iquote",  "-idirafter",
                                                       "-I",       "-include", "-imacros"};

std::string_view name_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? path : path.substr(slash + 1);
}

// What `LD_TRACE_LOADED_OBJECTS` makes the loader print, and paths on lines of their own.
std::vector<std::string> paths_in(std::string_view text) {
  std::vector<std::string> paths;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    const std::size_t slash = line.find('/');
    if (slash == line.npos) continue;
    line.remove_prefix(slash);
    paths.emplace_back(line.substr(0, line.find(" (")));
  }
  return paths;
}

void sort_once(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

}  // namespace

bool is_compiler_name(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash != name.npos && dash + 1 < name.size() &&
      name.find_first_not_of("0123456789.", dash + 1) == name.npos)
    name = name.substr(0, dash);
  const std::size_t prefix = name.rfind('-');
  if (prefix != name.npos) name = name.substr(prefix + 1);
  return name == "cc" || name == "c++" || name == "gcc" || name == "g++" || name == "clang" ||
         name == "clang++";
}

bool is_elf(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  std::array<char, 4> magic{};
  const bool is =
      ::read(fd, magic.data(), magic.size()) == 4 && std::string_view(magic.data(), 4) == "\177ELF";
  ::close(fd);
  return is;
}

bool is_compiler_program(const std::string& path) {
  const std::string real = real_path(path.c_str());
  return !path.empty() && is_compiler_name(name_of(real)) && is_elf(real);
}

std::string KnownCommands::output_of(const std::string& command) {
  Processes processes(signals_);
  if (!processes.start(0, command, false)) return {};
  const auto ended = processes.wait(-1);
  return ended ? ended->output : std::string();
}

// Empty: it could not be asked.
const std::vector<std::string>& KnownCommands::tools_of(const std::string& compiler) {
  const auto [place, is_new] = tools_.try_emplace(compiler);
  std::vector<std::string>& tools = place->second;
  if (!is_new) return tools;
  std::string quoted;
  append_quoted(quoted, compiler);
  std::vector<std::string> parts =
      paths_in(output_of("for part in cc1 cc1plus as; do " + quoted + " -print-prog-name=$part; done"));
  // A part that is called by its name alone is looked for as the compiler would.
  if (const std::string assembler = find_program("as"); !assembler.empty()) parts.push_back(assembler);
  parts.push_back(compiler);
  sort_once(parts);
  std::string ask;
  for (const std::string& part : parts) {
    if (!is_elf(part)) continue;
    ask += "LD_TRACE_LOADED_OBJECTS=1 ";
    append_quoted(ask, part);
    ask += " --version; ";
  }
  tools = paths_in(output_of(ask + ":"));
  const auto is_gone = [](const std::string& path) { return ::access(path.c_str(), R_OK) != 0; };
  std::erase_if(tools, is_gone);
  if (tools.empty()) return tools;  // not even a loader
  std::erase_if(parts, is_gone);
  tools.insert(tools.end(), parts.begin(), parts.end());
  sort_once(tools);
  return tools;
}

KnownCommand KnownCommands::look(const std::string& command, const std::string& output,
                                 const std::string& depfile, const std::string& response) {
  KnownCommand known;
  const auto unknown = [&](std::string why) {
    known.why_not = std::move(why);
    return known;
  };
  const auto words = plain_words(command);
  if (!words) return unknown("its command is a shell's, and what it reads and writes is not known");
  std::size_t at = 0;
  const auto launches = [&](const std::string& word) {
    return std::find(kLaunchers.begin(), kLaunchers.end(), name_of(word)) != kLaunchers.end();
  };
  while (at < words->size() && launches((*words)[at])) {
    if (const std::string launcher = find_program((*words)[at]); !launcher.empty())
      known.tools.push_back(launcher);
    ++at;
  }
  const std::string compiler = at < words->size() ? find_program((*words)[at]) : "";
  if (!is_compiler_name(name_of(compiler)) || !is_compiler_program(compiler))
    return unknown("what " + (at < words->size() ? (*words)[at] : command) +
                   " reads and writes is not known");
  for (const char* const name : {"DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"})
    if (std::getenv(name) != nullptr)
      return unknown(std::string(name) + " makes its compiler write more than is known");
  bool compiles = false;
  bool tells_all = false;
  bool names_output = false;
  for (++at; at < words->size(); ++at) {
    const std::string& word = (*words)[at];
    const auto begins = [&](std::string_view flag) { return std::string_view(word).starts_with(flag); };
    const auto holds = [&](std::string_view part) { return word.find(part) != word.npos; };
    if (std::any_of(kUnsureWords.begin(), kUnsureWords.end(), holds))
      return unknown("with " + word + " its compiler reads or writes more than is known");
    if (begins("@")) {
      std::string file = word.substr(1);
      make_canonical(file);
      if (response.empty() || file != response) return unknown("its words stand in the file " + file);
      return unknown("its words stand in a response file");
    }
    const bool has_next = at + 1 < words->size();
    if (word == "-c") compiles = true;
    if (word == "-MD") tells_all = true;
    if (word == "-MMD" || word == "-MM" || word == "-M")
      return unknown("with " + word + " its depfile leaves headers out");
    if (word == "-o" || word == "-MF") {
      if (!has_next) return unknown("its command line ends in " + word);
      std::string file = (*words)[++at];
      make_canonical(file);
      if (file != (word == "-o" ? output : depfile))
        return unknown("it writes " + file + ", which its step does not name");
      names_output |= word == "-o";
      continue;
    }
    if (word == "-MT" || word == "-MQ" || word == "-D" || word == "-U") {
      ++at;
      continue;
    }
    if (begins("-MF") || begins("-o")) return unknown("with " + word + " it is not plain what it writes");
    for (const std::string_view flag : kIncludes) {
      if (!begins(flag) || flag == "-include" || flag == "-imacros") continue;
      std::string directory = word.substr(flag.size());
      if (directory.empty() && has_next) directory = (*words)[at + 1];
      make_canonical(directory);
      if (!directory.empty()) known.includes.push_back(std::move(directory));
      break;
    }
    const bool has_directory = std::any_of(kIncludes.begin(), kIncludes.end(), begins) &&
                               word != "-isystem-after" && (!begins("-include") || word == "-include") &&
                               (!begins("-imacros") || word == "-imacros");
    const bool is_known =
        !begins("-") || has_directory || begins("-D") || begins("-U") || is_known_flag(word);
    if (!is_known || word == "-")
      return unknown("with " + word + " its compiler may read or write more than is known");
    known.named.push_back(word);
    if (const std::size_t equal = word.find('='); equal != word.npos)
      known.named.push_back(word.substr(equal + 1));
  }
  if (!compiles || !names_output) return unknown("it is no plain compilation of one file");
  if (!tells_all) return unknown("without -MD its depfile does not tell all that it reads");
  const std::vector<std::string>& tools = tools_of(compiler);
  if (tools.empty()) return unknown("what " + compiler + " consists of could not be found out");
  known.tools.insert(known.tools.end(), tools.begin(), tools.end());
  sort_once(known.tools);
  return known;
}

}  // namespace larder::build
