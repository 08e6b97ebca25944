#include "tool/compiler.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

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
  return result;
}

std::string find_part(const std::string& name) {
  for (const std::filesystem::path& folder : folders()) {
    std::error_code error;
    if (std::filesystem::is_regular_file(folder / name, error))
      return std::filesystem::weakly_canonical(folder / name, error).string();
  }
  return {};
}

std::string plugin_name(int version) {
  return "larder_reuse_plugin_" + std::to_string(version) + ".so";
}

}  // namespace

Result<int> clang_version(const std::string& compiler) {
  const Result<std::string> said = output_of({compiler, "--version"});
  if (!said) return tl::unexpected<Error>(said.error());
  const std::string_view text = *said;
  const std::size_t at = text.find("clang version ");
  if (at == std::string_view::npos)
    return fail(Code::unsupported, compiler + " is not clang: value reuse is a plugin for clang");
  return std::atoi(std::string(text.substr(at + 14, 6)).c_str());
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

Compilation read_compilation(const std::vector<std::string>& arguments) {
  Compilation result;
  for (const std::string& argument : arguments) {
    if (argument == "-c" || argument == "-S" || argument == "-E" || argument == "-M" || argument == "-MM" ||
        argument == "-fsyntax-only" || argument == "--version" || argument == "-v" || argument == "--help" ||
        argument == "-###" || argument.starts_with("-print-") || argument.starts_with("-dump"))
      result.links = false;
    if (argument.starts_with("-fsanitize=")) result.has_sanitizer = true;
    if (argument == "-fno-sanitize=all") result.has_sanitizer = false;
    if (argument.starts_with("-fprofile-generate") || argument.starts_with("-fcs-profile-generate") ||
        argument.starts_with("-fprofile-instr-generate") || argument == "-fprofile-arcs" ||
        argument == "--coverage" || argument == "-pg")
      result.records_profile = true;
  }
  return result;
}

}  // namespace larder::tool
