#include "tool/compiler.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "base/number.hpp"
#include "tool/child.hpp"

namespace larder::tool {
namespace {

constexpr std::array kVersions = {14, 16, 19};

std::filesystem::path own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

// Where an installed command finds them, then where one in its build folder does.
std::vector<std::filesystem::path> folders() {
  const std::filesystem::path own = own_folder();
  std::vector<std::filesystem::path> result;
  for (const char* const lib : {LARDER_LIBDIR, "lib"}) {
    result.push_back(own / ".." / lib / "larder");
    result.push_back(own / ".." / lib);
  }
  result.push_back(own / ".." / "plugin");
  result.push_back(own / ".." / "plugin" / "runtime");
  for (const char* const layer : {"nvrtc", "opencl", "opengl", "vulkan"})
    result.push_back(own / ".." / "layers" / layer);
  return result;
}

std::string plugin_name(int version) {
  return "larder_reuse_plugin_" + std::to_string(version) + ".so";
}

}  // namespace

std::string find_part(const std::string& name) {
  for (const std::filesystem::path& folder : folders()) {
    std::error_code error;
    if (std::filesystem::is_regular_file(folder / name, error))
      return std::filesystem::weakly_canonical(folder / name, error).string();
  }
  return {};
}

int version_in(const std::string& path) {
  const std::size_t at = path.rfind("/llvm-");
  if (at == std::string::npos) return 0;
  const std::size_t end = path.find_first_not_of("0123456789", at + 6);
  if (end == at + 6 || end == std::string::npos) return 0;
  const std::string rest = path.substr(end);
  if (rest != "/bin/clang" && rest != "/bin/clang++") return 0;
  return to_number<int>(std::string_view(path).substr(at + 6, end - at - 6)).value_or(0);
}

namespace {

// As the shell would find it, links followed; empty: nowhere.
std::string path_of(const std::string& program) {
  std::error_code error;
  if (program.find('/') != std::string::npos) return std::filesystem::canonical(program, error).string();
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::filesystem::path each = std::filesystem::path(rest.substr(0, colon)) / program;
    if (::access(each.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(each, error))
      return std::filesystem::canonical(each, error).string();
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return {};
}

}  // namespace

Result<int> clang_version(const std::string& compiler) {
  // Asking takes clang as long as compiling a small file.
  if (const int version = version_in(path_of(compiler)); version != 0) return version;
  const Result<std::string> said = output_of({compiler, "--version"});
  if (!said) return tl::unexpected<Error>(said.error());
  constexpr std::string_view kSays = "clang version ";
  std::string_view text = *said;
  const std::size_t at = text.find(kSays);
  if (at == std::string_view::npos)
    return fail(Code::unsupported, compiler + " is not clang: value reuse is a plugin for clang");
  text.remove_prefix(at + kSays.size());
  return take_number<int>(text).value_or(0);
}

bool has_plugin_source(int version) {
  return std::find(kVersions.begin(), kVersions.end(), version) != kVersions.end();
}

Result<ReuseParts> reuse_parts(int version) {
  ReuseParts parts{find_part(plugin_name(version)), find_part("liblarder_reuse.a")};
  if (!parts.plugin.empty() && !parts.library.empty()) return parts;
  if (parts.library.empty())
    return fail(Code::not_found, "liblarder_reuse.a is not where larder is installed");
  std::string others;
  for (const int other : kVersions)
    if (!find_part(plugin_name(other)).empty())
      others += (others.empty() ? "" : ", ") + std::to_string(other);
  return fail(Code::not_found,
              "this larder has no plugin for clang " + std::to_string(version) +
                  (others.empty() ? ", nor for any other" : "; it has those for clang " + others));
}

std::vector<std::string> response_words(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool is_in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (letter == '\\' && i + 1 < text.size()) {
      word += text[++i];
      is_in_word = true;
    } else if (quote != 0) {
      if (letter == quote) {
        quote = 0;
      } else {
        word += letter;
      }
    } else if (letter == '"' || letter == '\'') {
      quote = letter;
      is_in_word = true;
    } else if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\r') {
      if (is_in_word) words.push_back(std::move(word));
      word.clear();
      is_in_word = false;
    } else {
      word += letter;
      is_in_word = true;
    }
  }
  if (is_in_word) words.push_back(std::move(word));
  return words;
}

namespace {

constexpr int kNestedMax = 8;  // of response files

void expand(const std::vector<std::string>& arguments, int depth, std::vector<std::string>& result) {
  for (const std::string& argument : arguments) {
    std::ifstream file;
    if (argument.size() > 1 && argument[0] == '@' && depth < kNestedMax) file.open(argument.substr(1));
    if (!file.is_open()) {
      result.push_back(argument);
      continue;
    }
    const std::string text(std::istreambuf_iterator<char>(file), {});
    expand(response_words(text), depth + 1, result);
  }
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// What follows such a flag is no input.
bool takes_next_word(std::string_view flag) {
  return is_one_of(flag, {"-o",
                          "-I",
                          "-D",
                          "-U",
                          "-L",
                          "-l",
                          "-T",
                          "-u",
                          "-z",
                          "-e",
                          "-B",
                          "-x",
                          "-include",
                          "-imacros",
                          "-isystem",
                          "-iquote",
                          "-idirafter",
                          "-isysroot",
                          "-iprefix",
                          "-iwithprefix",
                          "-Xclang",
                          "-Xlinker",
                          "-Xassembler",
                          "-Xpreprocessor",
                          "-Xanalyzer",
                          "-mllvm",
                          "-MF",
                          "-MT",
                          "-MQ",
                          "-target",
                          "--target",
                          "-arch",
                          "--sysroot",
                          "--param",
                          "-include-pch",
                          "--config",
                          "-working-directory",
                          "-serialize-diagnostics",
                          "-dumpbase",
                          "-aux-info"});
}

bool ends_before_linking(std::string_view flag) {
  return is_one_of(flag, {"-c",
                          "-S",
                          "-E",
                          "-M",
                          "-MM",
                          "-r",
                          "-fsyntax-only",
                          "--compile",
                          "--assemble",
                          "--preprocess",
                          "--analyze",
                          "--precompile",
                          "-emit-ast",
                          "-###",
                          "--version",
                          "-V",
                          "--help",
                          "-help",
                          "--help-hidden",
                          "--print-supported-cpus",
                          "-verify-pch"}) ||
         flag.starts_with("-print-") || flag.starts_with("--print-") || flag.starts_with("-dump") ||
         flag.starts_with("--dump") || flag.starts_with("--autocomplete=");
}

}  // namespace

Compilation read_compilation(const std::vector<std::string>& arguments) {
  std::vector<std::string> words;
  expand(arguments, 0, words);
  Compilation result;
  bool has_input = false;
  bool ends_early = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      result.ends_in_files_alone = true;
      has_input |= i + 1 < words.size();
      break;
    }
    if (word == "-" || !word.starts_with("-")) has_input = true;
    ends_early |= ends_before_linking(word);
    if (word.starts_with("-fsanitize=")) result.has_sanitizer = true;
    if (word == "-fno-sanitize=all") result.has_sanitizer = false;
    if (word.starts_with("-fprofile-generate") || word.starts_with("-fcs-profile-generate") ||
        word.starts_with("-fprofile-instr-generate") ||
        is_one_of(word, {"-fprofile-arcs", "--coverage", "-coverage", "-pg"}))
      result.records_profile = true;
    if (takes_next_word(word)) {
      ++i;
      ends_early |= i == words.size();  // what is missing must not be found in what we add
    }
  }
  result.links = has_input && !ends_early;
  return result;
}

}  // namespace larder::tool
