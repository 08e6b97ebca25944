#include "tool/ask_watch.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "build/text_file.hpp"

namespace larder::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSilenceMax{10};
constexpr int kGlanceMs = 200;  // how often it is asked whether the watch was stopped
constexpr std::size_t kReadAtOnce = 64 * 1024;

// By a terminal's ^Z or a debugger, as far as one can know.
bool is_stopped(int pid) {
  const auto text = build::read_text_file("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name = text ? text->rfind(") ") : std::string::npos;
  if (name == std::string::npos || name + 2 >= text->size()) return false;
  const char state = (*text)[name + 2];
  return state == 'T' || state == 't';
}

// A socket; -1, and errno.
int connected(const std::string& name) {
  sockaddr_un address{};
  errno = ENAMETOOLONG;
  if (name.empty() || name.size() > sizeof address.sun_path) return -1;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

class Conversation {
 public:
  Conversation(Console& console, const build::StopSignals& signals) : console_(console), signals_(signals) {}
  ~Conversation() {
    if (fd_ >= 0) ::close(fd_);
  }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  WatchAsked hold(const std::string& name, const std::string& request);

 private:
  bool connect(const std::string& name);
  bool wait(short events);  // false: it is over, and asked_ says how
  void hear();
  void take(const WatchAnswer& answer);
  void give_up(std::string why) {
    asked_.why = std::move(why);
    is_over_ = true;
  }

  Console& console_;
  const build::StopSignals& signals_;
  int fd_ = -1;
  std::string in_;
  Clock::time_point heard_ = Clock::now();
  bool is_over_ = false;
  bool is_in_line_ = false;  // of the terminal
  WatchAsked asked_;
};

bool Conversation::connect(const std::string& name) {
  fd_ = connected(name);
  if (fd_ < 0) {
    if (errno == EAGAIN) asked_.why = "it has too many clients";
    return false;
  }
  ucred peer{};
  socklen_t peer_size = sizeof peer;
  if (::getsockopt(fd_, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0 || peer.uid != ::geteuid()) {
    asked_.why = "its socket is that of another user, number " + std::to_string(peer.uid);
    return false;
  }
  asked_.pid = peer.pid;
  return true;
}

bool Conversation::wait(short events) {
  pollfd polled{fd_, events, 0};
  const timespec timeout{0, kGlanceMs * 1'000'000L};
  const int count = ::ppoll(&polled, 1, &timeout, &signals_.outer_mask());
  if (build::StopSignals::received() != 0) {
    asked_.outcome = build::BuildOutcome::interrupted;
    is_over_ = true;
  } else if (count < 0 && errno != EINTR) {
    give_up(std::strerror(errno));
  } else if (count <= 0 && is_stopped(asked_.pid)) {
    give_up("it is stopped");
  } else if (count <= 0 && Clock::now() - heard_ > kSilenceMax) {
    give_up("it has said nothing for " + std::to_string(kSilenceMax.count()) + " seconds");
  }
  return !is_over_;
}

void Conversation::take(const WatchAnswer& answer) {
  if (!answer.word) return give_up("it says what nobody understands");
  switch (*answer.word) {
    case WatchWord::heard:
      return;
    case WatchWord::out:
      console_.out(answer.text);
      (void)console_.flush();
      is_in_line_ = !answer.text.empty() && answer.text.back() != '\n';
      return;
    case WatchWord::err:
      console_.err(answer.text);
      return;
    case WatchWord::declined:
      return give_up(std::string(answer.text));
    case WatchWord::done:
      break;
  }
  const auto outcome = answer.text.size() == 1 ? static_cast<std::uint8_t>(answer.text[0]) : UINT8_MAX;
  if (outcome > static_cast<std::uint8_t>(build::BuildOutcome::failed))
    return give_up("it says what nobody understands");
  asked_.outcome = static_cast<build::BuildOutcome>(outcome);
  is_over_ = true;
}

void Conversation::hear() {
  std::array<char, kReadAtOnce> buffer;
  const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) return give_up("it went away");
  heard_ = Clock::now();
  in_.append(buffer.data(), static_cast<std::size_t>(got));
  std::size_t at = 0;
  while (!is_over_) {
    const WatchAnswer answer = read_watch_answer(std::string_view(in_).substr(at));
    if (answer.used == 0) break;
    take(answer);
    at += answer.used;
  }
  in_.erase(0, at);
  if (in_.size() > kWatchBehindMax) give_up("it says what nobody understands");
}

WatchAsked Conversation::hold(const std::string& name, const std::string& request) {
  if (!connect(name)) return std::move(asked_);
  for (std::size_t sent = 0; sent < request.size() && !is_over_;) {
    const ssize_t some =
        ::send(fd_, request.data() + sent, request.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (some > 0) {
      sent += static_cast<std::size_t>(some);
    } else if (some < 0 && (errno == EAGAIN || errno == EINTR)) {
      (void)wait(POLLOUT);
    } else {
      give_up("it went away");
    }
  }
  while (!is_over_)
    if (wait(POLLIN)) hear();
  if (is_in_line_ && console_.out_is_terminal()) console_.out("\n");
  (void)console_.flush();
  return std::move(asked_);
}

}  // namespace

bool is_watched(const std::string& manifest_file) {
  const int fd = connected(watch_address(manifest_file));
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

WatchAsked ask_watch(const std::string& manifest_file, const WatchRequest& request, Console& console,
                     const build::StopSignals& signals) {
  const std::string bytes = to_bytes(request);
  if (bytes.size() > kWatchRequestMax) return {std::nullopt, "the request is too long", 0};
  return Conversation(console, signals).hold(watch_address(manifest_file), bytes);
}

}  // namespace larder::tool
