// Any bytes given as a config file: what is read is what the grammar allows, and settings come out whole.
#include <cstdint>

#include "fuzz/demand.hpp"
#include "settings/config_text.hpp"
#include "settings/settings.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder;
  const std::string input(reinterpret_cast<const char*>(data), size);
  unsigned lines = 1;
  for (const char c : input) lines += c == '\n';

  const auto read = settings::read_config_text(input);
  if (!read) {
    demand(!read.error().what.empty() && !read.error().advice.empty());
    demand(read.error().line >= 1 && read.error().line <= lines);
  } else {
    unsigned before = 0;
    for (const settings::Assignment& one : *read) {
      demand(!one.name.empty() && one.line > before && one.line <= lines);
      demand(one.problem.empty() == one.advice.empty());
      demand(one.problem.empty() || one.text.empty());
      before = one.line;
    }
  }

  // The way into a host: every setting says something, whatever the file says.
  settings::Surroundings here;
  here.environment["HOME"] = "/home/me";
  here.program = "fuzz";
  here.read_config = [&](const std::string& path) -> Result<std::optional<std::string>> {
    if (path != "/home/me/.config/larder/config.toml") return std::optional<std::string>();
    return std::optional<std::string>(input);
  };
  const settings::Settings settled = settings::resolve({}, here);
  for (const settings::Row& row : settings::table()) demand(settings::is_said(row, settled.values));
  for (const settings::Problem& problem : settled.problems) {
    demand(!problem.what.empty() && !problem.why.empty() && !problem.advice.empty());
  }
  return 0;
}
