// A command that runs after builds that made a difference, and reads from its input which products did. One
// at a time: what comes out different while it runs is told to the next. Used by one thread.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

#include "tool/console.hpp"

namespace larder::tool {

class FollowUp {
 public:
  FollowUp(Console& console, std::string command) : console_(console), command_(std::move(command)) {}
  // Asks it to end and waits for that, at most some seconds.
  ~FollowUp();
  FollowUp(const FollowUp&) = delete;
  FollowUp& operator=(const FollowUp&) = delete;

  // Runs it, now or when the one that runs has ended.
  void tell(const std::set<std::string>& paths);
  // Can be read when it has ended; -1: it does not run.
  int fd() const noexcept { return pid_fd_; }
  void on_readable();

 private:
  void start();

  Console& console_;
  const std::string command_;
  std::set<std::string> paths_;  // to be told
  pid_t pid_ = -1;
  int pid_fd_ = -1;
};

}  // namespace larder::tool
