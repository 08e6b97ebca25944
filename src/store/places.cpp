#include "store/places.hpp"

#include <pwd.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>
#include <vector>

namespace larder {
namespace {

// The variable's value when it is an absolute path, else nothing.
std::string_view absolute(const char* variable) noexcept {
  const char* const value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : std::string_view();
}

bool has_more_rights_than_its_user() noexcept {
  return ::getauxval(AT_SECURE) != 0;
}

std::string home_by_password_file() {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr ||
      entry.pw_dir == nullptr || entry.pw_dir[0] != '/' || entry.pw_dir[1] == '\0') {
    return {};
  }
  return entry.pw_dir;
}

}  // namespace

Result<std::string> default_store_root() {
  if (has_more_rights_than_its_user()) {
    return fail(Code::refused, "choose a store: a set-user-id process does not trust its environment");
  }
  if (const auto chosen = absolute("LARDER_DIR"); !chosen.empty()) return std::string(chosen);
  if (const auto cache = absolute("XDG_CACHE_HOME"); !cache.empty()) return std::string(cache) + "/larder";
  std::string home(absolute("HOME"));
  if (home.empty() || home == "/") home = home_by_password_file();
  if (home.empty()) return fail(Code::refused, "choose a store: no home directory; set LARDER_DIR");
  return home + "/.cache/larder";
}

std::string default_lock_directory() {
  const std::string user = std::to_string(::geteuid());
  if (!has_more_rights_than_its_user()) {
    if (const auto place = absolute("XDG_RUNTIME_DIR"); !place.empty()) return std::string(place) + "/larder";
  }
  const std::string by_system = "/run/user/" + user;
  if (::access(by_system.c_str(), W_OK) == 0) return by_system + "/larder";
  return "/tmp/larder-" + user;
}

}  // namespace larder
