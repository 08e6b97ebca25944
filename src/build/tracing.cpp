#include "build/tracing.hpp"

#include <algorithm>
#include <array>

#include "build/command_line.hpp"
#include "build/ingredients.hpp"
#include "build/known_command.hpp"
#include "build/paths.hpp"

namespace larder::build {
namespace {

constexpr std::array<std::string_view, 13> kParts = {"cc1",     "cc1plus", "cc1obj",      "as",  "collect2",
                                                     "ld",      "lto1",    "lto-wrapper", "lld", "ld.bfd",
                                                     "ld.gold", "ld.lld",  "gold"};

}  // namespace

// x86_64-linux-gnu-ld.bfd, as, cc1plus; the loader that starts them all is ld-linux-x86-64.so.2.
bool is_compiler_part(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("ld-linux") || is_compiler_name(name)) return true;
  if (const std::size_t dash = name.rfind("-gnu-"); dash != name.npos) name.remove_prefix(dash + 5);
  return std::find(kParts.begin(), kParts.end(), name) != kParts.end();
}

bool is_compiler_call(std::string_view command) {
  const auto words = plain_words(command);
  // A plugin may do what it likes.
  const auto loads = [](std::string_view word) {
    return word.starts_with("-fplugin") || word.starts_with("-fpass-plugin") || word == "-load" ||
           (word.starts_with("-Wl,") && word.find("-plugin") != word.npos);
  };
  return words && std::none_of(words->begin(), words->end(), loads) &&
         is_compiler_name(words->front().substr(words->front().rfind('/') + 1)) &&
         is_compiler_program(find_program(words->front()));
}

std::string_view other_than_compiler(const trace::Report& report) {
  for (const trace::Touch& touched : report.touches)
    if ((touched.uses & trace::kRun) != 0 && touched.before == trace::Was::file &&
        !is_compiler_part(touched.path))
      return touched.path;
  return {};
}

}  // namespace larder::build
