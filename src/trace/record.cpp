#include "trace/record.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "trace/filter.hpp"
#include "trace/programs.hpp"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

namespace larder::trace {
namespace {

constexpr std::size_t kTouchesMax = 200'000;
constexpr std::size_t kBytesMax = std::size_t{32} << 20;
constexpr std::size_t kSeenMax = 100'000;
constexpr std::size_t kLaterMax = 1000;
constexpr std::size_t kTextAtOnce = 512;
constexpr unsigned kMovesMax = 1000;        // of directories
constexpr unsigned kInterpretersMax = 5;    // one started by the other, as the kernel has it
constexpr std::uint64_t kPageBytes = 4096;  // none is smaller
constexpr Uses kChanges = kWritten | kRemoved;
constexpr Uses kReportedOfOwn = kChanges | kMoved;
constexpr Uses kReported =
    kLooked | kRead | kListed | kWritten | kRemoved | kRun | kPassed | kMoved | kExtended;
constexpr std::string_view kDeleted = " (deleted)";

std::string in_proc(pid_t task, const std::string& what) {
  return "/proc/" + std::to_string(task) + '/' + what;
}

// What came of naming it.
Uses uses_of(Uses uses, Was kind) {
  if (kind == Was::missing) {
    if ((uses & kWritten) != 0 && (uses & kMakes) != 0) return uses & ~(kRead | kRun | kListed);
    return uses == kPassed ? uses : kLooked;
  }
  return (uses & kOnlyNew) != 0 ? kLooked : uses;
}

}  // namespace

void Record::take(const seccomp_notif& halted) {
  ++report_.calls;
  if (is_lost_) return;
  if (halted.pid == 0) return doubt("it started a process that cannot be seen from here");
  if (!is_own_call(halted.data.arch, halted.data.nr))
    return doubt("it called the system as programs of another kind of machine do");
  const Call* const call = find_call(halted.data.nr);
  if (call == nullptr || take_later(*call, halted)) return;
  catch_up();
  take_call(*call, halted);
  has_left_ = has_left_ || call->leaves_directory;
}

bool Record::take_later(const Call& call, const seccomp_notif& halted) {
  Uses uses = call.first.uses;
  bool link_only = false;
  if (call.form == Form::open) {
    const std::uint64_t flags = halted.data.args[static_cast<std::size_t>(call.flags)];
    constexpr std::uint64_t kOthers = O_ACCMODE | O_CREAT | O_TRUNC | O_PATH | (O_TMPFILE & ~O_DIRECTORY);
    if ((flags & kOthers) != O_RDONLY) return false;
    uses = kRead;
    link_only = (flags & O_NOFOLLOW) != 0;
  } else if (call.form == Form::path && uses == kRead) {
    link_only = is_link_only(call, call.first, halted);
  } else {
    return false;
  }
  const std::uint64_t address = halted.data.args[static_cast<std::size_t>(call.first.text)];
  const auto task = static_cast<pid_t>(halted.pid);
  std::array<char, kTextAtOnce> text;
  const std::size_t size = std::min<std::size_t>(kPageBytes - address % kPageBytes, text.size());
  if (address == 0 || !read_memory(address, task, text.data(), size)) return false;
  const std::size_t length = ::strnlen(text.data(), size);
  const std::string_view path(text.data(), length);
  // What is in /proc, or led to from /dev, is gone with its process.
  if (length == size || !path.starts_with('/') || path.starts_with("/proc") || path.starts_with("/dev"))
    return false;
  later_.push_back({texts_.size(), uses, link_only, task});
  texts_.append(text.data(), length + 1);
  if (later_.size() == kLaterMax) catch_up();
  return true;
}

void Record::catch_up() {
  for (const Later& later : later_)
    touch(texts_.data() + later.text, later.uses, later.link_only, later.task);
  later_.clear();
  texts_.clear();
  if (report_.touches.size() > kTouchesMax || bytes_ > kBytesMax)
    doubt("it named more than " + std::to_string(kTouchesMax) + " paths");
}

void Record::take_call(const Call& call, const seccomp_notif& halted) {
  const auto& arguments = halted.data.args;
  const auto task = static_cast<pid_t>(halted.pid);
  switch (call.form) {
    case Form::maybe_fd:
      if (arguments[static_cast<std::size_t>(call.first.text)] == 0) {
        const auto fd = static_cast<int>(arguments[static_cast<std::size_t>(call.first.directory)]);
        if (const auto path = path_of_fd(fd, task)) touch(*path, call.first.uses, true, task);
        return;
      }
      [[fallthrough]];
    case Form::path:
      if (const auto path = path_of(call.first, halted)) {
        const Places::Place place =
            touch(*path, call.first.uses, is_link_only(call, call.first, halted), task);
        if (call.moves_names && ((call.first.uses & kMakes) != 0 || place.seen.kind == Was::link ||
                                 place.seen.kind == Was::directory))
          places_.distrust();
      }
      return;
    case Form::by_fd:
      if (const auto path = path_of_fd(static_cast<int>(arguments[0]), task))
        touch(*path, call.first.uses, true, task);
      return;
    case Form::two:
      return take_two(call, halted);
    case Form::open:
      return take_open(call, halted, arguments[static_cast<std::size_t>(call.flags)]);
    case Form::open_how: {
      std::uint64_t flags = 0;  // the first field of struct open_how
      if (read_memory(arguments[static_cast<std::size_t>(call.flags)], task, &flags, sizeof flags))
        take_open(call, halted, flags);
      return;
    }
    case Form::run: {
      auto path = path_of(call.first, halted);
      if (!path && call.first.directory >= 0) path = path_of_fd(static_cast<int>(arguments[0]), task);
      if (path) take_run(*path, is_link_only(call, call.first, halted), task);
      return;
    }
    case Form::connect:
      return take_address(halted, call.first.uses != 0);
    case Form::socket:
      // Others can be spoken through without a call that says with whom.
      if (arguments[0] != AF_UNIX || (arguments[1] & 0xF) == SOCK_DGRAM) doubt("it used the network");
      return;
    case Form::opaque:
      // What the command itself serves as a file system could only be looked at while it is not halted.
      is_lost_ = is_lost_ || call.moves_names;
      return doubt(call.what);
  }
}

void Record::take_open(const Call& call, const seccomp_notif& halted, std::uint64_t flags) {
  const auto path = path_of(call.first, halted);
  if (!path) return;
  const auto task = static_cast<pid_t>(halted.pid);
  const auto has = [&](int flag) {
    return (flags & static_cast<unsigned>(flag)) == static_cast<unsigned>(flag);
  };
  const bool is_new = has(O_CREAT) && has(O_EXCL);
  const bool link_only = has(O_NOFOLLOW) || is_new;
  if (has(O_PATH) || has(O_TMPFILE)) {
    touch(*path, kLooked, link_only, task);
    return;
  }
  const bool is_to_read = (flags & O_ACCMODE) == O_RDONLY;
  if (is_to_read && !has(O_CREAT) && !has(O_TRUNC)) {
    touch(*path, kRead, link_only, task);
    return;
  }
  Places::Place place = places_.find(*path, link_only, task);
  Uses uses = is_to_read && place.seen.kind != Was::missing ? kRead : kWritten;
  if (has(O_CREAT)) uses |= kMakes;
  if (is_new) uses |= kOnlyNew;
  if (has(O_TRUNC)) uses |= kWritten | kReplaces;
  if (place.seen.kind == Was::file && !has(O_TRUNC) && !is_new)
    uses |= (flags & O_ACCMODE) == O_WRONLY ? kExtended : kRead;
  if (place.seen.kind == Was::directory || place.seen.kind == Was::link || !place.is_whole) uses = kLooked;
  for (const std::string& link : place.links) touch_place(link, see(link.c_str()), kPassed | kRead);
  touch_place(place.path, place.seen, uses);
}

void Record::take_two(const Call& call, const seccomp_notif& halted) {
  const auto task = static_cast<pid_t>(halted.pid);
  const auto from = path_of(call.first, halted);
  const auto to = path_of(call.second, halted);
  Places::Place source;
  if (from) source = touch(*from, call.first.uses, is_link_only(call, call.first, halted), task);
  if (!to || (from && source.seen.kind == Was::missing)) return;
  const bool is_own = from && known_.contains(source.path) &&
                      report_.touches[known_[source.path].touch].before == Was::missing;
  Uses uses = call.second.uses;
  const bool moves_directory = call.moves_names && source.seen.kind == Was::directory;
  if (moves_directory && !is_own) uses |= kMoved;
  const bool exchanges = call.moves_names && call.flags >= 0 &&
                         (halted.data.args[static_cast<std::size_t>(call.flags)] & RENAME_EXCHANGE) != 0;
  if (exchanges) {
    uses |= kRead;
    touch(*from, kWritten, true, task);
  }
  const Places::Place target = touch(*to, uses, true, task);
  if (!call.moves_names) return;
  const auto leads = [](Was kind) { return kind == Was::directory || kind == Was::link; };
  if (leads(source.seen.kind) || leads(target.seen.kind)) places_.distrust();
  if (moves_directory) move_directory(source.path, target.path);
  if (exchanges && target.seen.kind == Was::directory) move_directory(target.path, source.path);
}

// What was written in it is where it is now.
void Record::move_directory(const std::string& from, const std::string& to) {
  if (++moves_ > kMovesMax)
    return doubt("it renamed more than " + std::to_string(kMovesMax) + " directories");
  const std::size_t count = report_.touches.size();
  for (std::size_t i = 0; i < count; ++i) {
    const Touch touched = report_.touches[i];
    if ((touched.uses & kWritten) == 0 || !touched.path.starts_with(from + '/')) continue;
    touch_place(to + touched.path.substr(from.size()), {}, kWritten | kMakes | kReplaces);
  }
}

void Record::take_run(const std::string& path, bool link_only, pid_t task) {
  std::string next = path;
  for (unsigned i = 0; i < kInterpretersMax && !next.empty(); ++i) {
    const Places::Place place = touch(next, kRead | kRun, link_only, task);
    if (place.seen.kind != Was::file) return;
    Program program = look_at_program(place.path);
    report_.lacked_rights |= program.has_rights;
    if (!program.trouble.empty()) doubt(std::move(program.trouble));
    next = std::move(program.interpreter);
    if (!next.empty() && next[0] != '/') next = working_directory(task) + '/' + next;
    link_only = false;
  }
}

void Record::take_address(const seccomp_notif& halted, bool makes) {
  const auto task = static_cast<pid_t>(halted.pid);
  sockaddr_un address{};
  const std::size_t size = std::min<std::size_t>(halted.data.args[2], sizeof address);
  if (size < sizeof address.sun_family || !read_memory(halted.data.args[1], task, &address, size)) return;
  if (address.sun_family == AF_UNSPEC) return;
  if (address.sun_family != AF_UNIX) return doubt("it used the network");
  address.sun_path[sizeof address.sun_path - 1] = '\0';
  std::string path = address.sun_path;
  if (path.empty()) return doubt("it spoke with another process");
  if (path[0] != '/') path = working_directory(task) + '/' + path;
  const Places::Place place = touch(path, makes ? kWritten | kMakes | kOnlyNew : kLooked, makes, task);
  if (!makes && place.seen.kind != Was::missing) doubt("it spoke with another process through " + place.path);
}

bool Record::is_link_only(const Call& call, const Path& path, const seccomp_notif& halted) {
  const std::uint64_t flags = call.flags < 0 ? 0 : halted.data.args[static_cast<std::size_t>(call.flags)];
  switch (path.follows) {
    case Follows::yes:
      return false;
    case Follows::no:
      return true;
    case Follows::unless_told:
      return (flags & AT_SYMLINK_NOFOLLOW) != 0;
    case Follows::if_told:
      return (flags & AT_SYMLINK_FOLLOW) == 0;
  }
  return false;
}

std::optional<std::string> Record::path_of(const Path& path, const seccomp_notif& halted) {
  const auto task = static_cast<pid_t>(halted.pid);
  std::string text;
  const std::uint64_t address = halted.data.args[static_cast<std::size_t>(path.text)];
  if (address == 0 || !read_text(address, task, text) || text.empty()) return std::nullopt;
  if (text[0] == '/') return text;
  const int directory = path.directory < 0
                            ? AT_FDCWD
                            : static_cast<int>(halted.data.args[static_cast<std::size_t>(path.directory)]);
  if (directory != AT_FDCWD) {
    auto base = path_of_fd(directory, task);
    if (!base) return std::nullopt;
    return std::move(*base) + '/' + text;
  }
  std::string base = working_directory(task);
  if (base.empty() || base[0] != '/') return std::nullopt;
  return std::move(base) + '/' + text;
}

// Processes inherit it, so all have the same until one has called chdir, and what it is called stays until
// a directory is renamed.
std::string Record::working_directory(pid_t task) {
  if (has_left_ || !places_.is_trusted()) return read_link(in_proc(task, "cwd"));
  if (working_.empty()) {
    std::string now = read_link(in_proc(task, "cwd"));
    if (now.empty() || now[0] != '/' || now.ends_with(kDeleted)) return now;
    working_ = std::move(now);
    places_.know_directory(working_);
  }
  return working_;
}

// Of a file that has no name any more: none.
std::optional<std::string> Record::path_of_fd(int fd, pid_t task) {
  std::string path = read_link(in_proc(task, "fd/" + std::to_string(fd)));
  if (path.empty() || path[0] != '/') return std::nullopt;
  if (path.ends_with(kDeleted) && see(path.c_str()).kind == Was::missing) return std::nullopt;
  return path;
}

Places::Place Record::touch(const std::string& path, Uses uses, bool link_only, pid_t task) {
  const bool is_same = (uses & (kChanges | kRun)) == 0 && places_.is_trusted();
  std::string key;
  if (is_same) {
    key = path;
    if (link_only) key += '\0';
    const auto seen = seen_.find(key);
    if (seen != seen_.end() && (seen->second & uses) == uses) return {};
    if (missed_.contains(key)) return {};
  }
  Places::Place place = places_.find(path, link_only, task);
  for (const std::string& link : place.links) touch_place(link, see(link.c_str()), kPassed | kRead);
  const bool opens_directory =
      place.seen.kind == Was::directory && (uses & kRead) != 0 && (uses & kChanges) == 0;
  touch_place(place.path, place.seen, opens_directory || !place.is_whole ? kLooked : uses);
  if (!is_same || place.path.starts_with("/proc")) return place;
  if (place.seen.kind == Was::missing) {
    if (missed_.size() < kSeenMax) missed_.insert(std::move(key));
    return place;
  }
  if (seen_.size() >= kSeenMax) seen_.clear();
  seen_[std::move(key)] |= uses;
  return place;
}

void Record::touch_place(const std::string& place, const Seen& seen, Uses uses) {
  if (!report_.why_unknowable.empty() && report_.touches.size() > kTouchesMax) return;
  uses = uses_of(uses, seen.kind);
  const auto [known, is_new] =
      known_.try_emplace(place, Known{static_cast<std::uint32_t>(report_.touches.size()), false});
  if (is_new) {
    report_.touches.push_back({place, 0, seen.kind, seen.changed_ns, seen.inode});
    bytes_ += place.size();
  }
  Touch& touched = report_.touches[known->second.touch];
  touched.uses |= static_cast<Uses>(uses & (known->second.is_own ? kReportedOfOwn : kReported));
  const bool makes = (uses & kWritten) != 0 && (touched.before == Was::missing || (uses & kReplaces) != 0);
  if (makes || (uses & kRemoved) != 0) known->second.is_own = true;
  if ((uses & kMakes) != 0 || makes) missed_.clear();  // it may be there from now on
}

// False: the call will fail as well, or what it names cannot be known, and that is said.
bool Record::read_memory(std::uint64_t address, pid_t task, void* into, std::size_t size) {
  iovec local{into, size};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is one, in another process
  iovec remote{reinterpret_cast<void*>(address), size};
  const ssize_t got = ::process_vm_readv(task, &local, 1, &remote, 1, 0);
  if (got == static_cast<ssize_t>(size)) return true;
  if (got < 0 && errno != EFAULT && errno != ESRCH) doubt("it started a program whose memory is not shown");
  return false;
}

bool Record::read_text(std::uint64_t address, pid_t task, std::string& text) {
  std::array<char, kTextAtOnce> part;
  while (text.size() < PATH_MAX) {
    // What lies behind the page may not be there.
    const std::size_t size = std::min<std::size_t>(kPageBytes - address % kPageBytes, part.size());
    if (!read_memory(address, task, part.data(), size)) return false;
    const std::size_t length = ::strnlen(part.data(), size);
    text.append(part.data(), length);
    if (length < size) return true;
    address += size;
  }
  return false;
}

}  // namespace larder::trace
