#include "tool/watch_door.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace larder::tool {
namespace {

constexpr std::size_t kClientsMax = 64;
constexpr std::size_t kReadAtOnce = 64 * 1024;

bool is_same_user(int fd) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

}  // namespace

WatchClient::WatchClient(int socket)
    : fd_(socket), said_(Clock::now()), streams_{{this, WatchWord::out}, {this, WatchWord::err}} {}

WatchClient::~WatchClient() {
  report_.reset();
  console_.reset();
  for (std::FILE* const file : files_)
    if (file != nullptr) (void)std::fclose(file);
  ::close(fd_);
}

ssize_t WatchClient::write(void* stream, const char* bytes, std::size_t size) {
  const Stream& to = *static_cast<Stream*>(stream);
  to.client->say(to.word, {bytes, size});
  return static_cast<ssize_t>(size);
}

std::FILE* WatchClient::open_stream(Stream& stream) {
  cookie_io_functions_t functions{};
  functions.write = &WatchClient::write;
  return ::fopencookie(&stream, "w", functions);
}

BuildReport& WatchClient::begin_report(const build::Manifest& manifest, unsigned jobs) {
  if (console_ == nullptr) {
    for (std::size_t i = 0; i < 2; ++i) {
      files_[i] = open_stream(streams_[i]);
      if (files_[i] == nullptr) throw std::bad_alloc();
    }
    (void)std::setvbuf(files_[1], nullptr, _IONBF, 0);
    console_ = std::make_unique<Console>(files_[0], files_[1], request_.columns != 0, false,
                                         request_.has_colour ? Colour::always : Colour::never);
  }
  const Screen screen{request_.columns, request_.can_redraw};
  report_ = std::make_unique<BuildReport>(*console_, manifest, request_.status, jobs, request_.is_verbose,
                                          request_.is_quiet, &screen);
  return *report_;
}

void WatchClient::end_report() {
  if (report_ == nullptr) return;
  report_->end();
  report_.reset();
  (void)console_->flush();
}

void WatchClient::done(build::BuildOutcome outcome) {
  end_report();
  const char code = static_cast<char>(outcome);
  say(WatchWord::done, {&code, 1});
  if (state_ == State::served) state_ = State::leaving;
}

void WatchClient::decline(std::string_view why) {
  end_report();
  say(WatchWord::declined, why);
  if (state_ == State::served) state_ = State::leaving;
}

void WatchClient::say(WatchWord word, std::string_view text) {
  if (state_ == State::gone || state_ == State::leaving) return;
  said_ = Clock::now();
  out_.erase(0, sent_);
  sent_ = 0;
  out_ += to_bytes(word, text);
  if (out_.size() > kWatchBehindMax) {
    state_ = State::gone;
    return;
  }
  send();
}

void WatchClient::send() {
  while (sent_ < out_.size()) {
    const ssize_t sent = ::send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent <= 0) {
      state_ = State::gone;
      return;
    }
    sent_ += static_cast<std::size_t>(sent);
  }
  out_.clear();
  sent_ = 0;
}

// Who has asked has nothing more to say but that it goes.
void WatchClient::hear() {
  std::array<char, kReadAtOnce> buffer;
  while (state_ != State::gone) {
    const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got <= 0 || state_ != State::asking) {
      state_ = State::gone;
      return;
    }
    in_.append(buffer.data(), static_cast<std::size_t>(got));
    WatchRequestRead read = read_watch_request(in_);
    if (!read.is_whole) continue;
    in_.clear();
    if (!read.request) {
      state_ = State::gone;  // another version's: it builds for itself
      return;
    }
    request_ = std::move(*read.request);
    state_ = State::waiting;
    say(WatchWord::heard, {});
  }
}

std::unique_ptr<WatchDoor> WatchDoor::open(const std::string& manifest_file, std::string& why) {
  std::unique_ptr<WatchDoor> door(new WatchDoor);
  const std::string name = watch_address(manifest_file);
  sockaddr_un address{};
  if (name.empty() || name.size() > sizeof address.sun_path) {
    why = "the directory has no name";
    return nullptr;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  door->listen_fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (door->listen_fd_ < 0 ||
      ::bind(door->listen_fd_, reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(door->listen_fd_, kClientsMax) != 0) {
    why = errno == EADDRINUSE ? "another watch is asked here" : std::strerror(errno);
    return nullptr;
  }
  door->poll_fd_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (door->poll_fd_ < 0) {
    why = std::strerror(errno);
    return nullptr;
  }
  door->also_hear(door->listen_fd_);
  return door;
}

WatchDoor::~WatchDoor() {
  clients_.clear();
  if (listen_fd_ >= 0) ::close(listen_fd_);
  if (poll_fd_ >= 0) ::close(poll_fd_);
}

void WatchDoor::also_hear(int fd) const noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  if (fd >= 0) (void)::epoll_ctl(poll_fd_, EPOLL_CTL_ADD, fd, &event);
}

void WatchDoor::accept_some() {
  for (;;) {
    const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (clients_.size() >= kClientsMax || !is_same_user(fd)) {
      ::close(fd);
      continue;
    }
    clients_.push_back(std::make_unique<WatchClient>(fd));
    also_hear(fd);
  }
}

// When there is something for it that it did not take yet.
void WatchDoor::poll_for(WatchClient& client) const noexcept {
  const bool waits = client.sent_ < client.out_.size();
  if (waits == client.waits_to_send_) return;
  client.waits_to_send_ = waits;
  epoll_event event{};
  event.events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN;
  (void)::epoll_ctl(poll_fd_, EPOLL_CTL_MOD, client.fd_, &event);
}

void WatchDoor::tend() {
  using State = WatchClient::State;
  accept_some();
  const auto now = WatchClient::Clock::now();
  for (const auto& client : clients_) {
    client->hear();
    if (client->state_ != State::gone) client->send();
    const bool is_waiting = client->state_ == State::waiting || client->state_ == State::served;
    if (is_waiting && now - client->said_ >= std::chrono::milliseconds(kWatchHeartbeatMs))
      client->say(WatchWord::heard, {});
    if (client->state_ == State::leaving && client->sent_ == client->out_.size())
      client->state_ = State::gone;
    if (client->state_ != State::gone) poll_for(*client);
  }
  std::erase_if(clients_,
                [&](const auto& one) { return one->state_ == State::gone && one.get() != served_; });
}

bool WatchDoor::has_request() const noexcept {
  return std::any_of(clients_.begin(), clients_.end(),
                     [](const auto& one) { return one->state_ == WatchClient::State::waiting; });
}

WatchClient& WatchDoor::next() noexcept {
  const auto found = std::find_if(clients_.begin(), clients_.end(),
                                  [](const auto& one) { return one->state_ == WatchClient::State::waiting; });
  (*found)->state_ = WatchClient::State::served;
  served_ = found->get();
  return **found;
}

void WatchDoor::let_go(WatchClient& client) {
  client.end_report();
  served_ = nullptr;
  tend();
}

}  // namespace larder::tool
