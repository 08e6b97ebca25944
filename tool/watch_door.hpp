// The door of a watch: the socket at which `larder build` asks it to build, and the clients that came. Never
// waits, and is bounded in clients and bytes. Used by the watch's thread.
#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "build/build.hpp"
#include "tool/build_report.hpp"
#include "tool/console.hpp"
#include "tool/watch_link.hpp"

namespace larder::tool {

// One who asked. What is told it is kept until it is taken, however slow it is.
class WatchClient {
 public:
  explicit WatchClient(int socket);
  ~WatchClient();
  WatchClient(const WatchClient&) = delete;
  WatchClient& operator=(const WatchClient&) = delete;

  // PRECONDITION: it was next().
  const WatchRequest& request() const noexcept { return request_; }
  // What it is told of a build, as its flags have it. PRECONDITION: end_report() before `manifest` goes.
  BuildReport& begin_report(const build::Manifest& manifest, unsigned jobs);
  BuildReport* report() noexcept { return report_.get(); }
  void end_report();
  // The last that it is told.
  void done(build::BuildOutcome outcome);
  void decline(std::string_view why);

 private:
  friend class WatchDoor;
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { asking, waiting, served, leaving, gone };
  // What stdio is told of where it writes to.
  struct Stream {
    WatchClient* client;
    WatchWord word;
  };
  static ssize_t write(void* stream, const char* bytes, std::size_t size);
  std::FILE* open_stream(Stream& stream);
  void say(WatchWord word, std::string_view text);
  void send();
  void hear();

  int fd_;
  State state_ = State::asking;
  WatchRequest request_;
  std::string in_;
  std::string out_;
  std::size_t sent_ = 0;
  Clock::time_point said_;
  bool waits_to_send_ = false;  // the door is to hear when it can
  Stream streams_[2];
  std::FILE* files_[2] = {};
  std::unique_ptr<Console> console_;
  std::unique_ptr<BuildReport> report_;
};

class WatchDoor {
 public:
  // Null, and why, where it cannot be had: another watch has it, say.
  static std::unique_ptr<WatchDoor> open(const std::string& manifest_file, std::string& why);
  ~WatchDoor();
  WatchDoor(const WatchDoor&) = delete;
  WatchDoor& operator=(const WatchDoor&) = delete;

  // Can be read when tend() has something to do, or when one can that was given to also_hear() and is open
  // still.
  int fd() const noexcept { return poll_fd_; }
  void also_hear(int fd) const noexcept;
  // Takes in whoever comes, what they say and that they went, and tells those who wait that they are not
  // forgotten.
  void tend();
  // Until tend() should be called again, in milliseconds; -1: when fd() can be read.
  int patience_ms() const noexcept { return clients_.empty() ? -1 : kWatchHeartbeatMs; }
  bool has_request() const noexcept;
  // Who has waited longest; it is served until it is told its last. PRECONDITION: has_request().
  WatchClient& next() noexcept;
  // Whether one that is served went away.
  static bool is_gone(const WatchClient& client) noexcept {
    return client.state_ == WatchClient::State::gone;
  }
  // It is not served any more.
  void let_go(WatchClient& client);

 private:
  WatchDoor() = default;
  void accept_some();
  void poll_for(WatchClient& client) const noexcept;

  int listen_fd_ = -1;
  int poll_fd_ = -1;
  const WatchClient* served_ = nullptr;
  std::vector<std::unique_ptr<WatchClient>> clients_;  // in the order in which they came
};

}  // namespace larder::tool
