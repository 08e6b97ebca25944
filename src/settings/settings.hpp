// Settings are every setting with its value and where that came from. Made once when a cache is opened.
// What the program or the command line said wins over the environment, that over the project file, the user's
// and the system's config file, and these over the default.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "larder/options.hpp"
#include "settings/surroundings.hpp"
#include "settings/table.hpp"

namespace larder::settings {

enum class Origin : std::uint8_t { fallback, system_file, user_file, project_file, environment, option };
std::string_view name(Origin origin) noexcept;

struct Source {
  Origin origin = Origin::fallback;
  std::string
      place;  // `LARDER_DIR`, `/home/me/.config/larder/config.toml:3`, `--dir`, or a remark on a default
};

// Something said that could not be used; the next source down decided instead.
struct Problem {
  Origin origin = Origin::fallback;  // whose word it was
  std::string where;                 // as Source::place; empty when it concerns no single place
  std::string what;                  // `size-max does not fit`
  std::string why;
  std::string advice;  // what to do

  // One line, as a warning event carries it.
  std::string text() const;
};

struct Settings {
  Options values;  // every field says something; paths that could not be found are empty
  std::array<Source, kSettingCount> sources;
  std::vector<Problem> problems;
  std::vector<std::string> files;  // config files that were read, the strongest first

  const Source& source(const Row& row) const noexcept { return sources[index_of(row)]; }
  const Source& source(std::string_view name) const noexcept;
};

// Never fails: a value that does not fit is a problem, and the next source decides.
Settings resolve(const Options& said, const Surroundings& surroundings);
// As a library that opens a cache does.
Settings resolve(const Options& said);

}  // namespace larder::settings
