#include "build/footprint.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>

#include "build/content.hpp"
#include "build/paths.hpp"

extern char** environ;

namespace larder::build {
namespace {

using trace::Touch;
using trace::Was;

// What libraries ask for whatever the program does, and what says nothing.
constexpr std::array<std::string_view, 17> kHarmless = {"/proc/filesystems",
                                                        "/proc/mounts",
                                                        "/proc/meminfo",
                                                        "/proc/stat",
                                                        "/proc/self",
                                                        "/proc/thread-self",
                                                        "/proc/sys/vm/overcommit_memory",
                                                        "/proc/sys/crypto/fips_enabled",
                                                        "/sys/fs/selinux",
                                                        "/sys/devices/system/cpu/online",
                                                        "/sys/devices/system/cpu/possible",
                                                        "/sys/kernel/mm/transparent_hugepage/enabled",
                                                        "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
                                                        "/dev/null",
                                                        "/dev/zero",
                                                        "/dev/full",
                                                        "/dev/fd"};
// They say something else each time, or on each machine, and no file tells it.
constexpr std::array<std::string_view, 16> kOracles = {
    "date",   "hostname", "uname", "nproc", "whoami", "id",  "logname", "who",
    "uptime", "uuidgen",  "shuf",  "lscpu", "hostid", "tty", "ps",      "arch"};

// Of a process itself, too: /proc/123/maps.
bool is_harmless(std::string_view path) {
  if (path.starts_with("/proc/") && path.size() > 6 && path[6] >= '0' && path[6] <= '9') return true;
  return std::any_of(kHarmless.begin(), kHarmless.end(), [&](std::string_view known) {
    return path == known || (path.starts_with(known) && path[known.size()] == '/');
  });
}

std::string why_oracle(const Touch& touched) {
  if ((touched.uses & trace::kRun) == 0) return {};
  const std::string_view name = std::string_view(touched.path).substr(touched.path.rfind('/') + 1);
  if (std::find(kOracles.begin(), kOracles.end(), name) == kOracles.end()) return {};
  return "it ran " + std::string(name) + ", which tells what no file does";
}

Manner manner_of(const Touch& touched) {
  const bool is_read = (touched.uses & (trace::kRead | trace::kRun | trace::kExtended)) != 0;
  switch (touched.before) {
    case Was::missing:
      return Manner::missing;
    case Was::link:
      return Manner::passed;
    case Was::directory:
      return (touched.uses & trace::kListed) != 0 ? Manner::listed : Manner::looked;
    case Was::file:
      return is_read ? Manner::read : Manner::looked;
    case Was::other:
      return Manner::looked;
  }
  return Manner::looked;
}

}  // namespace

Footprint footprint_of(const trace::Report& report, const Declared& declared, const Undeclared& names) {
  Footprint footprint;
  const auto refuse = [&](std::string why) {
    if (footprint.why_not.empty()) footprint.why_not = std::move(why);
  };
  const auto busy = busy_directories(report);
  for (const Touch& touched : report.touches) {
    const std::string& path = touched.path;
    const bool asks = (touched.uses & (trace::kRead | trace::kListed | trace::kExtended)) != 0;
    if (is_in_kernel_place(path)) {
      if (asks && !is_harmless(path)) refuse("it read " + path + ", which is no file that could be kept");
      continue;
    }
    if (declared.is_output(path)) continue;
    if (std::string why = why_oracle(touched); !why.empty()) refuse(std::move(why));
    const bool changes = (touched.uses & (trace::kWritten | trace::kRemoved)) != 0;
    if (changes && (touched.before == Was::missing || !asks)) continue;  // its own, or not what it was after
    const Manner manner = manner_of(touched);
    if (manner != Manner::passed && declared.inputs.contains(path)) continue;
    if (touched.before == Was::other && asks) refuse("it read " + path + ", which is no file");
    if (manner == Manner::listed && busy.contains(path))
      refuse("it listed " + names.name(path) + ", in which it writes");
    struct stat status {};
    const bool is_there = ::lstat(path.c_str(), &status) == 0;
    if (is_there == (manner == Manner::missing)) refuse(path + " came or went while its command ran");
    footprint.marks.push_back({manner, false, names.name(path)});
  }
  return footprint;
}

std::string presence(Manner manner, const std::string& path) {
  if (manner == Manner::passed) {
    std::array<char, PATH_MAX> text;
    const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
    return size < 0 ? "none" : "link " + std::string(text.data(), static_cast<std::size_t>(size));
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return "none";
  return S_ISREG(status.st_mode) ? "file" : S_ISDIR(status.st_mode) ? "directory" : "other";
}

std::string mode_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return {};
  std::array<char, 8> text{};
  (void)std::snprintf(text.data(), text.size(), " %03o", static_cast<unsigned>(status.st_mode & 0777));
  return text.data();
}

void append_environment(std::vector<std::string>& names) {
  constexpr std::array<std::string_view, 14> kPrefixes = {
      "PYTHON", "PERL",  "RUBY", "GEM_", "NODE_", "LUA_",  "JAVA",
      "GO",     "CARGO", "RUST", "TEX",  "GIT_",  "MAKE_", "POSIXLY_CORRECT"};
  names.insert(names.end(), {"HOME", "USER", "LOGNAME", "HOSTNAME"});
  for (char* const* variable = environ; *variable != nullptr; ++variable) {
    std::string_view name(*variable);
    name = name.substr(0, name.find('='));
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (std::any_of(kPrefixes.begin(), kPrefixes.end(), begins)) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

std::string to_closure(Manner manner, std::string_view portable_path) {
  return std::string{static_cast<char>(manner), ':'}.append(portable_path);
}

bool from_closure(std::string_view text, Manner& manner, std::string_view& portable_path) {
  if (text.size() < 3 || text[1] != ':') return false;
  for (const Manner known : {Manner::read, Manner::listed, Manner::passed, Manner::looked, Manner::missing}) {
    if (text[0] != static_cast<char>(known)) continue;
    manner = known;
    portable_path = text.substr(2);
    return true;
  }
  return false;
}

}  // namespace larder::build
