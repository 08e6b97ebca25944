#include "settings/surroundings.hpp"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

extern char** environ;

namespace larder::settings {
namespace {

bool is_ours(std::string_view name) noexcept {
  return name.starts_with("LARDER_") || name.starts_with("XDG_") || name == "HOME";
}

class Descriptor {
 public:
  explicit Descriptor(int fd) noexcept : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int fd() const noexcept { return fd_; }

 private:
  int fd_;
};

std::string reason(int error) {
  return std::strerror(error);
}

// $XDG or $HOME/below, when absolute.
std::string xdg_place(const Surroundings& surroundings, std::string_view xdg, std::string_view below) {
  const std::string* place = surroundings.variable(xdg);
  if (place != nullptr && (*place)[0] == '/') return *place;
  const std::string* home = surroundings.variable("HOME");
  if (home != nullptr && (*home)[0] == '/') return *home + std::string(below);
  return {};
}

// Both stand by themselves: most processes have no config file and need no folder, and no page of a stack
// that is that deep.
[[gnu::noinline]] std::string folder_here() {
  char path[PATH_MAX];
  return ::getcwd(path, sizeof path) == nullptr ? std::string() : std::string(path);
}

[[gnu::noinline]] Result<std::optional<std::string>> read_all(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Code::io, "read: " + reason(errno));
    if (got == 0) return std::optional<std::string>(std::move(text));
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kConfigSizeMax) return fail(Code::refused, "is larger than 1 MiB");
  }
}

}  // namespace

const std::string* Surroundings::variable(std::string_view name) const noexcept {
  const auto found = environment.find(name);
  return found == environment.end() || found->second.empty() ? nullptr : &found->second;
}

Surroundings Surroundings::of_process(Face face) {
  Surroundings here;
  here.face = face;
  here.is_privileged = ::getauxval(AT_SECURE) != 0;
  here.uid = ::geteuid();
  here.program = program_invocation_short_name;
  here.read_config = read_config_file;
  if (!here.is_privileged && environ != nullptr) {
    for (char** one = environ; *one != nullptr; ++one) {
      if (**one != 'L' && **one != 'X' && **one != 'H') continue;  // as most are
      const std::string_view assignment = *one;
      const std::size_t equals = assignment.find('=');
      if (equals == std::string_view::npos || !is_ours(assignment.substr(0, equals))) continue;
      here.environment.emplace(assignment.substr(0, equals), assignment.substr(equals + 1));
    }
  }
  if (face == Face::tool) here.working_dir = folder_here();
  return here;
}

Result<std::optional<std::string>> read_config_file(const std::string& path) {
  // O_NONBLOCK: a FIFO in this place must not hold the host up.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.fd() < 0) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) return std::optional<std::string>();
    return fail(Code::io, "open: " + reason(error));
  }
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) return fail(Code::io, "fstat: " + reason(errno));
  if (!S_ISREG(status.st_mode)) return fail(Code::refused, "is no regular file");
  if (status.st_uid != 0 && status.st_uid != ::geteuid()) {
    return fail(Code::refused, "belongs to user " + std::to_string(status.st_uid) + ", not to you");
  }
  if ((status.st_mode & S_IWOTH) != 0) return fail(Code::refused, "can be written by everybody");
  return read_all(file.fd());
}

std::string default_dir(const Surroundings& surroundings) {
  const std::string place = xdg_place(surroundings, "XDG_CACHE_HOME", "/.cache");
  return place.empty() ? place : place + "/larder";
}

std::string default_runtime_dir(const Surroundings& surroundings) {
  const std::string* place = surroundings.variable("XDG_RUNTIME_DIR");
  if (place != nullptr && (*place)[0] == '/') return *place + "/larder";
  // Never TMPDIR: processes that have another one would not find each other.
  const std::string uid = std::to_string(surroundings.uid);
  const std::string session = "/run/user/" + uid;
  if (::access(session.c_str(), W_OK) == 0) return session + "/larder";
  return "/tmp/larder-" + uid;
}

std::string user_config_path(const Surroundings& surroundings) {
  const auto named = surroundings.environment.find("LARDER_CONFIG");
  if (named != surroundings.environment.end()) return named->second;
  const std::string place = xdg_place(surroundings, "XDG_CONFIG_HOME", "/.config");
  return place.empty() ? place : place + "/larder/config.toml";
}

std::string system_config_path(const Surroundings& surroundings) {
  const std::string* all = surroundings.variable("XDG_CONFIG_DIRS");
  const std::string first = all == nullptr ? std::string() : all->substr(0, all->find(':'));
  return (first.empty() || first[0] != '/' ? "/etc/xdg" : first) + "/larder/config.toml";
}

}  // namespace larder::settings
