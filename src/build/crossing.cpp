#include "build/crossing.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "build/command_line.hpp"
#include "build/known_command.hpp"
#include "build/paths.hpp"
#include "build/tracing.hpp"

namespace larder::build {
namespace {

using Words = std::vector<std::string>;

// They write paths as they are given, or none.
constexpr std::array<std::string_view, 16> kCopiers = {
    "ar",    "ranlib", "strip", "objcopy", "cp",      "ln",  "mv",   "rm",
    "mkdir", "touch",  "cat",   "chmod",   "install", "cmp", "true", "false"};
constexpr std::array<std::string_view, 3> kOfShell = {":", "cd", "echo"};
constexpr std::array<std::string_view, 3> kShells = {"sh", "dash", "bash"};
constexpr std::array<std::string_view, 14> kOfCmake = {
    "copy",   "copy_if_different",    "copy_directory", "rm",
    "remove", "remove_directory",     "make_directory", "touch",
    "rename", "touch_nocreate",       "create_symlink", "create_hardlink",
    "true",   "cmake_symlink_library"};
// Flags of compilers whose values are looked into, or written as they are.
constexpr std::array<std::string_view, 21> kPathFlags = {"-I",
                                                         "-isystem",
                                                         "-iquote",
                                                         "-idirafter",
                                                         "-include",
                                                         "-imacros",
                                                         "-o",
                                                         "-MF",
                                                         "-MT",
                                                         "-MQ",
                                                         "-L",
                                                         "-B",
                                                         "-T",
                                                         "-Wl,",
                                                         "--sysroot=",
                                                         "-fuse-ld=",
                                                         "-ffile-prefix-map=",
                                                         "-fmacro-prefix-map=",
                                                         "-fdebug-prefix-map=",
                                                         "-fdebug-compilation-dir=",
                                                         "-ffile-compilation-dir="};
// Flags with their values in the next word that are put into what is compiled, or that say what that is for.
constexpr std::array<std::string_view, 6> kValueFlags = {"-D",      "-U",     "-A",
                                                         "-Xclang", "-mllvm", "-Xassembler"};
constexpr std::array<std::string_view, 6> kPlugins = {"-fplugin", "-fpass-plugin", "-load",
                                                      "-Xclang",  "-specs",        "--specs"};
constexpr std::array<std::string_view, 2> kMacroMaps = {"-ffile-prefix-map=", "-fmacro-prefix-map="};

template <std::size_t kCount>
bool is_among(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <std::size_t kCount>
bool begins(const std::array<std::string_view, kCount>& fronts, std::string_view word) {
  return std::any_of(fronts.begin(), fronts.end(),
                     [&](std::string_view front) { return word.starts_with(front); });
}

// x86_64-linux-gnu-gcc-ar-12, llvm-objcopy-14: ar, objcopy.
std::string_view copier_of(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (const std::size_t gnu = name.rfind("-gnu-"); gnu != name.npos) name.remove_prefix(gnu + 5);
  for (const std::string_view front : {"gcc-", "llvm-"})
    if (name.starts_with(front)) name.remove_prefix(front.size());
  const std::size_t end = name.find_last_not_of("0123456789.");
  if (end != name.npos && end + 1 < name.size() && name[end] == '-') name = name.substr(0, end);
  return name;
}

bool names_root(const Root& root, std::string_view word) {
  return root.named_in(word) != 0;
}

std::string why_compiler_stays(const Words& words, std::size_t at, const Root& root, Crossing& crossing) {
  unsigned mapped = 0;
  for (++at; at < words.size(); ++at) {
    const std::string_view word = words[at];
    if (begins(kPlugins, word) || (word.starts_with("-Wl,") && word.find("-plugin") != word.npos))
      return "with " + words[at] + " it is not known what its compiler makes of paths";
    if (begins(kMacroMaps, word)) {
      std::string_view from = word.substr(word.find('=') + 1);
      const std::string_view to = from.substr(std::min(from.size(), from.find('=') + 1));
      from = from.substr(0, from.find('='));
      while (from.size() > 1 && from.ends_with('/')) from.remove_suffix(1);
      if (names_root(root, to)) return words[at] + " puts its root in";
      const bool is_whole = root.portable(from).ends_with('}') && root.named_in(from) != 0;
      if (is_whole) mapped |= root.named_in(from);
      continue;
    }
    if (!names_root(root, word)) continue;
    crossing.root_names |= root.named_in(word);
    const std::string_view before = words[at - 1];
    const bool is_value =
        is_among(kValueFlags, before) ||
        (before.starts_with("--") && before != "--sysroot" && before.find('=') == before.npos);
    if ((word.starts_with('-') && !begins(kPathFlags, word)) || is_value)
      return "its command names its root in " + words[at];
  }
  crossing.mapped_names &= mapped;
  crossing.compiles = true;
  return {};
}

std::string why_copier_stays(std::string_view name, const Words& words, const Root& root) {
  const bool makes_links = name == "ln";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with('-')) continue;
    if (names_root(root, word)) return "its command names its root in " + words[i];
    if (makes_links && word.find('r') != word.npos) return "ln writes what lies between two places";
  }
  return {};
}

std::string why_call_stays(const Words& words, const Root& root, bool is_known, Crossing& crossing) {
  constexpr std::array<std::string_view, 3> kLaunchers = {"ccache", "sccache", "distcc"};
  std::size_t at = 0;
  const auto name_at = [&] {
    return at < words.size() ? std::string_view(words[at]).substr(words[at].rfind('/') + 1)
                             : std::string_view();
  };
  while (is_known && is_among(kLaunchers, name_at())) ++at;
  const std::string_view name = name_at();
  if (is_compiler_name(name)) return why_compiler_stays(words, at, root, crossing);
  if (name == "cd") {
    if (words.size() == 2 && words[1].find("..") == std::string::npos && !words[1].starts_with('-'))
      return {};
  } else if (is_among(kOfShell, name)) {
    return {};
  } else if (name == "cmake") {
    if (words.size() > 2 && words[1] == "-E" && is_among(kOfCmake, words[2])) return {};
  } else if (const std::string_view copier = copier_of(name);
             is_among(kCopiers, copier) || is_compiler_part(name)) {
    return why_copier_stays(copier, words, root);
  }
  return "it is not known what " + words[at] + " makes of paths";
}

// Replaces the name of a response file by the words in it; false when some word is none of its.
bool take_response(Words& words, std::string_view response, const Words& more) {
  Words all;
  for (std::string& word : words) {
    if (!word.starts_with('@')) {
      all.push_back(std::move(word));
      continue;
    }
    std::string file = word.substr(1);
    make_canonical(file);
    if (response.empty() || file != response) return false;
    all.insert(all.end(), more.begin(), more.end());
  }
  words = std::move(all);
  return std::none_of(more.begin(), more.end(),
                      [](const std::string& word) { return word.starts_with('@'); });
}

// Whether a word, or a part of one between commas, is a format: `-I binary`, `-Wl,-b,binary`, `-bbinary`. A
// file may be called so.
bool says_binary(std::string_view text) noexcept {
  constexpr std::string_view kName = "binary";
  const auto is_border = [](char c) {
    return std::string_view(" \t\n,='\"").find(c) != std::string_view::npos;
  };
  for (std::size_t at = text.find(kName); at != text.npos; at = text.find(kName, at + 1)) {
    const std::string_view before = text.substr(0, at);
    const std::size_t end = at + kName.size();
    const bool ends = end == text.size() || is_border(text[end]);
    const bool begins = before.empty() || is_border(before.back()) || before.ends_with("-b") ||
                        before.ends_with("-I") || before.ends_with("-B");
    if (ends && begins) return true;
  }
  return false;
}

}  // namespace

Crossing crossing_of(std::string_view command, std::string_view response, std::string_view more_words,
                     const Root& root, bool is_known) {
  Crossing crossing;
  crossing.mapped_names = ~0u;
  const auto stays = [&](std::string why) {
    crossing.why_not = std::move(why);
    return crossing;
  };
  if (!root.is_plain()) return stays("its root's path has characters that could be written in other ways");
  std::string text(command);
  text.append("\n").append(more_words);
  if (root.is_reentered_by(text)) return stays("its command leaves its root and comes back by its name");
  // Names of symbols are made of the path then.
  if (root.named_in(text) != 0 && says_binary(text))
    return stays("its command names its root and says binary");
  std::string line(more_words);
  std::replace(line.begin(), line.end(), '\n', ' ');
  const auto more = plain_words(": && x " + line + " && :");
  auto calls = simple_commands(command);
  if (!calls) return stays("its command has more of a shell than is known not to depend on its root");
  for (Words& words : *calls) {
    if (!take_response(words, response, more ? Words(more->begin() + 1, more->end()) : Words{"@"}))
      return stays("it is not known what stands in a file of its words");
    if (words.empty()) return stays("its command has an empty part");
    if (std::string why = why_call_stays(words, root, is_known, crossing); !why.empty())
      return stays(std::move(why));
  }
  if (!crossing.compiles) crossing.mapped_names = 0;
  return crossing;
}

std::string_view program_that_stays(const trace::Report& report) {
  for (const trace::Touch& touched : report.touches) {
    if ((touched.uses & trace::kRun) == 0 || touched.before != trace::Was::file) continue;
    const std::string_view path = touched.path;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    const bool is_copier =
        is_among(kCopiers, copier_of(path)) || is_among(kShells, name) || name == "cmake" || name == "echo";
    // Others may be called so, scripts too.
    const bool is_system = path.starts_with(kPackagesPlace);
    if (!(is_compiler_part(path) && (is_system || is_elf(touched.path))) && !(is_copier && is_system))
      return path;
  }
  return {};
}

}  // namespace larder::build
