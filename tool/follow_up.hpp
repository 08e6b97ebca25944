// A command that runs after builds that made a difference, and reads from its input which products did. One
// at a time: what comes out different while it runs is told to the next, or, where it is one that restarts, a
// server say, it is ended for that. Used by one thread.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

#include "tool/console.hpp"

namespace larder::tool {

class FollowUp {
 public:
  FollowUp(Console& console, std::string command, bool restarts);
  // Asks it to end and waits for that, at most some seconds.
  ~FollowUp();
  FollowUp(const FollowUp&) = delete;
  FollowUp& operator=(const FollowUp&) = delete;

  // Runs it, now or when the one that runs has ended.
  void tell(const std::set<std::string>& paths);
  // Has one that restarts run, from the first time on.
  void begin();
  // Can be read when on_readable() is to be called.
  int fd() const noexcept { return poll_fd_; }
  void on_readable();

 private:
  void start();
  void ask_to_end();

  Console& console_;
  const std::string command_;
  const bool restarts_;
  bool has_begun_ = false;
  bool is_asked_ = false;        // to end, so that the next can start
  int poll_fd_ = -1;             // of the two below
  int timer_fd_ = -1;            // when it was asked to end for long enough
  std::set<std::string> paths_;  // to be told
  pid_t pid_ = -1;
  int pid_fd_ = -1;
};

}  // namespace larder::tool
