// A small HTTP server on a thread of its own: answers by a handler, keeps event streams open, and is bounded
// in connections, bytes and time, so that no client costs the others more than its place.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "http/request.hpp"
#include "larder/result.hpp"

namespace larder::http {

inline constexpr std::size_t kStreamBytesMax = 1 << 20;  // that one who listens may lag behind

// What clients may cost.
struct Limits {
  std::size_t connections = 256;
  std::size_t streams = 128;                  // of them
  std::chrono::milliseconds head{10'000};     // from the first byte of a request to its last
  std::chrono::milliseconds idle{30'000};     // between requests
  std::chrono::milliseconds later{30'000};    // of what is put off
  std::chrono::milliseconds sending{30'000};  // and as long as the bytes take at 16 KiB a second
};

struct Response {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::shared_ptr<const std::string> body;
  bool is_stream = false;  // body is the first of many events: broadcast() brings the others
  bool is_later = false;   // ask again after retry(); given up after some seconds with this very response
};

std::shared_ptr<const std::string> text_body(std::string text);

class Server {
 public:
  // Called on the server's thread, one at a time; must neither block for long nor throw.
  using Handler = std::function<Response(const Request&)>;

  // Listens on `address` (numeric) and `port` (0: any that is free). Errors: why it cannot.
  static Result<std::unique_ptr<Server>> listen(const std::string& address, unsigned port, Handler handler,
                                                const Limits& limits = {});
  // Ends all connections.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  unsigned port() const noexcept { return port_; }
  // From any thread: `event` to all streams; and responses that were put off are asked for again.
  void broadcast(std::string_view event);
  void retry() { broadcast({}); }

 private:
  struct Connection;
  Server(Handler handler, const Limits& limits);
  void run(const std::stop_token& stop);
  void wake() const noexcept;
  void accept_some();
  void take_waiting();
  void hear(Connection& connection);
  void answer(Connection& connection);
  void respond(Connection& connection, Response response, bool is_last);
  void refuse(Connection& connection, int status);
  void send(Connection& connection);
  void tend(Connection& connection);

  const Handler handler_;
  const Limits limits_;
  int listen_fd_ = -1;
  int wake_fd_ = -1;
  unsigned port_ = 0;
  std::vector<std::unique_ptr<Connection>> connections_;  // of the thread
  std::size_t streams_ = 0;
  bool accepts_ = true;
  Mutex mutex_;
  std::string events_ GUARDED_BY(mutex_);
  bool is_retried_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: it uses all the others
};

}  // namespace larder::http
