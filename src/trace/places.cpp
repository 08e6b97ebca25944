#include "trace/places.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>

#include "base/clock.hpp"

namespace larder::trace {
namespace {

constexpr unsigned kLinksMax = 40;  // the kernel's own limit
constexpr std::size_t kDirectoriesMax = 20'000;

}  // namespace

Seen see(const char* path) noexcept {
  struct stat status {};
  Seen seen;
  if (::lstat(path, &status) != 0) return seen;
  seen.kind = S_ISREG(status.st_mode)   ? Was::file
              : S_ISDIR(status.st_mode) ? Was::directory
              : S_ISLNK(status.st_mode) ? Was::link
                                        : Was::other;
  seen.changed_ns = to_ns(status.st_ctim);
  seen.inode = status.st_ino;
  return seen;
}

std::string read_link(const std::string& path) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : std::string();
}

// Goes on from `place`, a directory, along `rest`.
void Places::walk(Place& place, std::string rest, bool link_only, pid_t task) {
  std::string at = place.path == "/" ? std::string() : std::move(place.path);  // without `/` at its end
  std::size_t begin = 0;
  unsigned links = 0;
  while ((begin = rest.find_first_not_of('/', begin)) != std::string::npos) {
    const std::size_t end = std::min(rest.find('/', begin), rest.size());
    std::string_view name = std::string_view(rest).substr(begin, end - begin);
    const bool is_last = rest.find_first_not_of('/', end) == std::string::npos;
    begin = end;
    if (name == ".") continue;
    if (name == "..") {
      at.erase(std::min(at.rfind('/'), at.size()));
      continue;
    }
    if (name == "thread-self" && at == "/proc") {
      rest.insert(end, "/task/" + std::to_string(task));
      name = "self";
    }
    std::string next = at + '/';
    if (name == "self" && at == "/proc")
      next += std::to_string(task);  // it means whoever asks, and that would be us
    else
      next += name;
    place.seen = see(next.c_str());
    if (place.seen.kind == Was::link && !(is_last && end == rest.size() && link_only)) {
      const std::string text = read_link(next);
      // Those of /proc to what has no path say what it is instead.
      const bool leads = !text.empty() && (text[0] == '/' || !next.starts_with("/proc/"));
      if (leads && ++links <= kLinksMax) {
        if (text[0] == '/') at.clear();
        place.links.push_back(std::move(next));
        rest = text + rest.substr(end);
        begin = 0;
        place.seen.kind = Was::directory;
        continue;
      }
      place.seen.kind = Was::other;
    }
    at = std::move(next);
    if (place.seen.kind != Was::directory && !is_last) {
      place.is_whole = false;
      break;
    }
  }
  place.path = at.empty() ? "/" : std::move(at);
}

// Goes as far as is known, and from there on by one directory after the other. False: it leads to none.
bool Places::find_directory(Place& place, std::string_view path, pid_t task) {
  std::size_t end = path.size();
  for (; end != 0; end = std::min(path.rfind('/', end - 1), end - 1)) {
    const auto known = directories_.find(path.substr(0, end));
    if (known == directories_.end()) continue;
    place.path = known->second;
    break;
  }
  while (end < path.size()) {
    const std::size_t next = std::min(path.find('/', end + 1), path.size());
    walk(place, std::string(path.substr(end, next - end)), false, task);
    if (place.seen.kind != Was::directory) {
      place.is_whole = false;
      return false;
    }
    end = next;
    if (is_trusted_ && directories_.size() < kDirectoriesMax && !place.path.starts_with("/proc"))
      directories_.emplace(path.substr(0, end), place.path);
  }
  return true;
}

Places::Place Places::find(std::string_view path, bool link_only, pid_t task) {
  Place place{.path = "/", .seen = {.kind = Was::directory}, .is_whole = true, .links = {}};
  const std::size_t name_end = path.find_last_not_of('/');
  const std::size_t slash = name_end == path.npos ? path.npos : path.rfind('/', name_end);
  if (slash == path.npos) return place;
  if (!find_directory(place, path.substr(0, slash), task)) return place;
  walk(place, std::string(path.substr(slash)), link_only, task);
  return place;
}

}  // namespace larder::trace
