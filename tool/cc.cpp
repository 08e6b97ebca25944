#include "tool/child.hpp"
#include "tool/command.hpp"
#include "tool/compiler.hpp"

namespace larder::tool {
namespace {

constexpr Argument kCcArguments[] = {
    {"--profile-reuse", "",
     "build a program that records which functions would gain; see larder reuse-report"},
    {"--reuse-profile", "FILE", "choose functions and table sizes by what such a program left behind"},
    {"--deny", "FILE", "functions that must not be memoized, one a line"},
    {"--allow", "FILE", "functions to memoize although they look cheap, one a line"},
    {"--strategy", "NAME", "how tables replace", "adaptive round_robin lru_vector lru_hash"},
    {"--with-sanitizers", "", "also where a sanitizer instruments"},
    {"COMMAND", "", "the compiler and its arguments", {}, false, true},
};

// Adds `name=value` to the plugin's options; false when it cannot be said.
bool add_option(const Call& call, std::string_view argument, std::string_view name, std::string& options) {
  if (!call.has(argument)) return true;
  std::string value(call.value(argument));
  if (value.find(',') != std::string::npos) return false;
  if (name != "strategy" && !value.starts_with('/')) value = call.surroundings().working_dir + '/' + value;
  options += ',' + std::string(name) + '=' + value;
  return true;
}

int run_cc(Call& call) {
  std::vector<std::string> words = call.values("COMMAND");
  if (words.empty()) {
    return call.refuse("larder cc needs a compiler", "there is nothing to run",
                       "write `larder cc clang++ -O2 x.cpp`");
  }
  const Compilation compilation = read_compilation({words.begin() + 1, words.end()});
  const auto own = call.surroundings().environment.find("LARDER_REUSE_OPTIONS");
  std::string options = own == call.surroundings().environment.end() ? "" : own->second;
  for (const auto& [argument, name] : {std::pair("--reuse-profile", "profile"), std::pair("--deny", "deny"),
                                       std::pair("--allow", "allow"), std::pair("--strategy", "strategy")})
    if (!add_option(call, argument, name, options))
      return call.refuse(std::string(argument) + " cannot name that file",
                         "commas part options from each other", "give the file a name without a comma");
  if (call.has("--profile-reuse")) options += ",record=on";
  if (call.has("--with-sanitizers")) options += ",sanitizers=on";

  const Result<int> version = clang_version(words[0]);
  if (!version) {
    return call.refuse("larder cc cannot use " + words[0], version.error().what,
                       "name a clang, clang++-19 for example, or compile without larder cc");
  }
  const Result<ReuseParts> parts = reuse_parts(*version);
  if (!parts) {
    return call.refuse("no value reuse for " + words[0], parts.error().what,
                       has_plugin_source(*version) ? "use another clang, or build larder where llvm-" +
                                                         std::to_string(*version) + "-dev is installed"
                                                   : "use clang 14, 16 or 19: the plugin is for these");
  }
  const bool is_off =
      compilation.records_profile || (compilation.has_sanitizer && !call.has("--with-sanitizers"));
  if (!is_off) words.insert(words.begin() + 1, "-fpass-plugin=" + parts->plugin);
  // Objects that were compiled with it need it, whatever this call compiles. By -Xlinker it is the linker's
  // even behind `-x c`; behind `--` there are files alone.
  if (compilation.links && compilation.ends_in_files_alone)
    words.push_back(parts->library);
  else if (compilation.links)
    words.insert(words.end(),
                 {"--start-no-unused-arguments", "-Xlinker", parts->library, "--end-no-unused-arguments"});
  const Result<int> status = run_child(words, {{"LARDER_REUSE_OPTIONS", options}});
  if (!status) return call.refuse("the compiler did not start", status.error().what, "check its name");
  return *status;
}

}  // namespace

extern const Command kCcCommand;
const Command kCcCommand{
    "cc",
    "compile with value reuse",
    "Runs clang with larder's plugin, which puts tables in front of functions that it proves pure, and links "
    "the library that they need. Everything from the compiler's name on is the compiler's. Builds that "
    "record "
    "an execution profile, and those with a sanitizer unless --with-sanitizers is given, are compiled as if "
    "larder were not there. The exit code is the compiler's. -Rpass=larder-reuse and "
    "-Rpass-missed=larder-reuse say what was memoized, and what was not and why.",
    kCcArguments,
    false,
    false,
    run_cc,
    "larder cc clang++ -O2 x.cpp\nlarder cc --profile-reuse clang++ -O2 x.cpp\n"
    "larder cc --reuse-profile larder-reuse.profile clang++ -O2 x.cpp",
    true};

}  // namespace larder::tool
