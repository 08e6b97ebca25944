#include "http/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>

namespace larder::http {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr std::size_t kSendBytesPerSecond = 16 * 1024;
constexpr seconds kPingTime{15};  // so that streams whose client is gone are noticed
constexpr std::chrono::milliseconds kTick{1000};
constexpr std::size_t kReadAtOnce = 16 * 1024;

std::string_view reason_of(int status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 301:
      return "Moved Permanently";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 421:
      return "Misdirected Request";
    case 431:
      return "Request Header Fields Too Large";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Error";
  }
}

std::string date_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 40> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), size};
}

}  // namespace

struct Server::Connection {
  Connection(int socket, Clock::time_point until) : fd(socket), deadline(until) {}
  ~Connection() { ::close(fd); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  enum class State : std::uint8_t { reading, later, sending, streaming, ended };
  int fd;
  State state = State::reading;
  std::string in;
  std::string head;  // to be sent, then the body; of a stream all that is to be sent
  std::shared_ptr<const std::string> body;
  std::size_t sent = 0;  // of both
  bool ends_after = false;
  Request request;  // while later
  Clock::time_point deadline;
  Clock::time_point pinged = Clock::now();
  bool is_fresh = true;  // no byte of a request has come
};

std::shared_ptr<const std::string> text_body(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

Server::Server(Handler handler, const Limits& limits) : handler_(std::move(handler)), limits_(limits) {}

Result<std::unique_ptr<Server>> Server::listen(const std::string& address, unsigned port, Handler handler,
                                               const Limits& limits) {
  std::unique_ptr<Server> server(new Server(std::move(handler), limits));
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  const bool is_v4 = ::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
  if (!is_v4 && ::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1)
    return fail(Code::invalid_argument, address + " is no numeric address");
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<std::uint16_t>(port));
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  const auto* const name =
      is_v4 ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
  socklen_t size = is_v4 ? sizeof v4 : sizeof v6;
  server->listen_fd_ = ::socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int yes = 1;
  if (server->listen_fd_ >= 0) ::setsockopt(server->listen_fd_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (server->listen_fd_ < 0 || ::bind(server->listen_fd_, name, size) != 0 ||
      ::listen(server->listen_fd_, 128) != 0)
    return fail(Code::io,
                "listen on " + address + " port " + std::to_string(port) + ": " + std::strerror(errno));
  sockaddr_in6 bound{};
  size = sizeof bound;
  ::getsockname(server->listen_fd_, reinterpret_cast<sockaddr*>(&bound), &size);
  server->port_ = ntohs(bound.sin6_port);  // at the same place in either
  server->wake_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (server->wake_fd_ < 0)
    return fail(Code::out_of_resources, std::string("eventfd: ") + std::strerror(errno));
  // The process's signals are for others.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  Server* const self = server.get();
  server->thread_ = std::jthread([self](const std::stop_token& stop) { self->run(stop); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return server;
}

Server::~Server() {
  if (thread_.joinable()) {
    thread_.request_stop();
    wake();
    thread_.join();
  }
  if (listen_fd_ >= 0) ::close(listen_fd_);
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

void Server::wake() const noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wake_fd_, &one, sizeof one);
}

void Server::broadcast(std::string_view event) {
  {
    const MutexLock lock(mutex_);
    // Nobody who listens would take more.
    if (events_.size() + event.size() <= kStreamBytesMax) events_ += event;
    is_retried_ = true;
  }
  wake();
}

void Server::take_waiting() {
  std::uint64_t count = 0;
  (void)!::read(wake_fd_, &count, sizeof count);
  std::string events;
  bool is_retried = false;
  {
    const MutexLock lock(mutex_);
    std::swap(events, events_);
    std::swap(is_retried, is_retried_);
  }
  for (const auto& connection : connections_) {
    if (connection->state == Connection::State::streaming && !events.empty()) {
      if (connection->head.size() - connection->sent + events.size() > kStreamBytesMax) {
        connection->state = Connection::State::ended;
        continue;
      }
      if (connection->head.size() == connection->sent) connection->deadline = Clock::now() + limits_.sending;
      connection->head.erase(0, connection->sent);
      connection->sent = 0;
      connection->head += events;
      send(*connection);
    } else if (connection->state == Connection::State::later && is_retried) {
      answer(*connection);
    }
  }
}

void Server::accept_some() {
  for (;;) {
    const int fd = ::accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      // Out of descriptors: those who wait in the queue go on waiting until one is free.
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) accepts_ = false;
      return;
    }
    const int yes = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    auto connection = std::make_unique<Connection>(fd, Clock::now() + limits_.head);
    if (connections_.size() >= limits_.connections) {
      refuse(*connection, 503);  // and closed, sent or not
      continue;
    }
    connections_.push_back(std::move(connection));
  }
}

void Server::refuse(Connection& connection, int status) {
  Response response;
  response.status = status;
  response.headers.emplace_back("Content-Type", "text/plain; charset=utf-8");
  response.body = text_body(std::to_string(status) + ' ' + std::string(reason_of(status)) + '\n');
  connection.request = {};
  respond(connection, std::move(response), true);
}

void Server::respond(Connection& connection, Response response, bool is_last) {
  const bool is_head = connection.request.method == "HEAD";
  connection.ends_after = is_last || response.is_stream;
  std::string& head = connection.head;
  head = "HTTP/1.1 " + std::to_string(response.status) + ' ' + std::string(reason_of(response.status)) +
         "\r\nDate: " + date_now() + "\r\n";
  for (const auto& [name, value] : response.headers) head += name + ": " + value + "\r\n";
  const std::size_t size = response.body == nullptr ? 0 : response.body->size();
  if (!response.is_stream && response.status != 304)
    head += "Content-Length: " + std::to_string(size) + "\r\n";
  if (connection.ends_after) head += "Connection: close\r\n";
  head += "X-Content-Type-Options: nosniff\r\n\r\n";
  connection.sent = 0;
  connection.body.reset();
  connection.request = {};
  const auto now = Clock::now();
  connection.deadline = now + limits_.sending + seconds(size / kSendBytesPerSecond);
  if (response.is_stream && !is_head) {
    if (response.body != nullptr) head += *response.body;
    connection.state = Connection::State::streaming;
    connection.pinged = now;
    ++streams_;
  } else {
    connection.state = Connection::State::sending;
    if (!is_head && response.status != 304) connection.body = std::move(response.body);
  }
  send(connection);
}

// PRECONDITION: its request is whole.
void Server::answer(Connection& connection) {
  Response response = handler_(connection.request);
  const bool is_last = !connection.request.keeps_connection;
  const auto now = Clock::now();
  if (response.is_later) {
    if (connection.state != Connection::State::later) connection.deadline = now + limits_.later;
    if (now < connection.deadline) {
      connection.state = Connection::State::later;
      return;
    }
  }
  if (response.is_stream && streams_ >= limits_.streams) return refuse(connection, 503);
  respond(connection, std::move(response), is_last);
}

// Takes the requests that are there, until one has to be waited for.
void Server::hear(Connection& connection) {
  while (connection.state == Connection::State::reading) {
    Parsed parsed = parse_request(connection.in);
    if (parsed.status == 0) return;
    if (parsed.status != 200) return refuse(connection, parsed.status);
    connection.in.erase(0, parsed.used);
    connection.request = std::move(parsed.request);
    answer(connection);
  }
}

void Server::send(Connection& connection) {
  for (;;) {
    const std::size_t body_size = connection.body == nullptr ? 0 : connection.body->size();
    std::string_view rest;
    if (connection.sent < connection.head.size()) {
      rest = std::string_view(connection.head).substr(connection.sent);
    } else if (connection.sent < connection.head.size() + body_size) {
      rest = std::string_view(*connection.body).substr(connection.sent - connection.head.size());
    }
    if (rest.empty()) break;
    const int more = connection.sent < connection.head.size() && body_size != 0 ? MSG_MORE : 0;
    const ssize_t sent = ::send(connection.fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT | more);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (sent <= 0) {
      connection.state = Connection::State::ended;
      return;
    }
    connection.sent += static_cast<std::size_t>(sent);
  }
  if (connection.state != Connection::State::sending) return;
  connection.body.reset();
  connection.state = connection.ends_after ? Connection::State::ended : Connection::State::reading;
  connection.is_fresh = connection.in.empty();
  connection.deadline = Clock::now() + (connection.is_fresh ? limits_.idle : limits_.head);
}

void Server::tend(Connection& connection) {
  using State = Connection::State;
  if (connection.state == State::reading && !connection.in.empty())
    hear(connection);  // came while it was busy
  const auto now = Clock::now();
  const bool is_sent = connection.sent == connection.head.size();
  if (connection.state == State::streaming && is_sent && now >= connection.pinged + kPingTime) {
    connection.pinged = now;
    connection.head = ":\n\n";  // a comment
    connection.sent = 0;
    connection.deadline = now + limits_.sending;
    send(connection);
  }
  if (connection.state == State::ended || now < connection.deadline) return;
  if (connection.state == State::streaming && is_sent) return;
  if (connection.state == State::later) return answer(connection);
  if (connection.state == State::reading && !connection.in.empty()) return refuse(connection, 408);
  connection.state = State::ended;
}

void Server::run(const std::stop_token& stop) {
  using State = Connection::State;
  std::vector<pollfd> polled;
  std::array<char, kReadAtOnce> buffer;
  const auto tick = static_cast<int>(std::min({kTick, limits_.head, limits_.later, limits_.sending}).count());
  while (!stop.stop_requested()) {
    polled.clear();
    polled.push_back({wake_fd_, POLLIN, 0});
    polled.push_back({accepts_ ? listen_fd_ : -1, POLLIN, 0});
    for (const auto& connection : connections_) {
      short events = POLLIN;  // of all, so that their end is seen
      if (connection->state == State::sending) events = POLLOUT;
      if (connection->state == State::streaming && connection->sent != connection->head.size())
        events = POLLIN | POLLOUT;
      if (connection->state == State::later && !connection->in.empty()) events = 0;
      polled.push_back({connection->fd, events, 0});
    }
    const int count = ::poll(polled.data(), polled.size(), tick);
    if (count < 0 && errno != EINTR) return;
    accepts_ = true;
    for (std::size_t i = 0; count > 0 && i < connections_.size(); ++i) {
      Connection& connection = *connections_[i];
      const short seen = polled[i + 2].revents;
      if ((seen & POLLOUT) != 0) {
        send(connection);
        hear(connection);  // what came meanwhile
      }
      if ((seen & POLLIN) != 0) {
        const ssize_t got = ::recv(connection.fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
          connection.state = State::ended;
        } else if (got > 0 && connection.state == State::reading) {
          if (connection.is_fresh) connection.deadline = Clock::now() + limits_.head;
          connection.is_fresh = false;
          connection.in.append(buffer.data(), static_cast<std::size_t>(got));
          hear(connection);
        } else if (got > 0 && connection.state == State::later) {
          connection.in.append(buffer.data(), static_cast<std::size_t>(got));
        }  // a stream has nothing to say
      } else if ((seen & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
        connection.state = State::ended;
      }
    }
    if (polled[0].revents != 0) take_waiting();
    for (const auto& connection : connections_) tend(*connection);
    std::erase_if(connections_, [](const auto& one) { return one->state == State::ended; });
    streams_ =
        static_cast<std::size_t>(std::count_if(connections_.begin(), connections_.end(), [](const auto& one) {
          return one->state == State::streaming;
        }));
    if (polled[1].revents != 0) accept_some();
  }
  connections_.clear();
}

}  // namespace larder::http
