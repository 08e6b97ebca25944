// Surroundings are what a process finds around itself when it settles its settings: environment, places,
// files. A plain value; tests make their own.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "larder/result.hpp"

namespace larder::settings {

enum class Face : std::uint8_t { library, tool };

// Nothing, when there is no such file. `io` when it cannot be read, `refused` when it is no regular file,
// larger than kConfigSizeMax, owned by another user than this one and root, or writable by everybody.
using ConfigReader = std::function<Result<std::optional<std::string>>(const std::string& path)>;
inline constexpr std::size_t kConfigSizeMax = 1 << 20;

struct Surroundings {
  Face face = Face::library;
  bool is_privileged = false;  // setuid or the like: environment and files are somebody else's word
  std::map<std::string, std::string, std::less<>> environment;  // LARDER_*, XDG_* and HOME only
  std::string working_dir;  // where the search for a project file begins; empty: no search
  std::string program;      // the executable's name
  unsigned uid = 0;
  ConfigReader read_config;

  // Null when unset or empty.
  const std::string* variable(std::string_view name) const noexcept;

  static Surroundings of_process(Face face);
};

// Reads the machine's files.
Result<std::optional<std::string>> read_config_file(const std::string& path);

// The XDG places. Empty when neither the XDG variable nor HOME is an absolute path: relative ones are
// ignored, as the XDG specification demands.
std::string default_dir(const Surroundings& surroundings);          // .../larder
std::string default_runtime_dir(const Surroundings& surroundings);  // .../larder; never empty
std::string user_config_path(const Surroundings& surroundings);     // LARDER_CONFIG or .../larder/config.toml
std::string system_config_path(const Surroundings& surroundings);   // /etc/xdg/larder/config.toml as a rule

inline constexpr std::string_view kProjectFile = ".larder.toml";

}  // namespace larder::settings
