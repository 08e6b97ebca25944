// A client of make's jobserver: beyond the one command that it may run anyway, each costs a token, which goes
// back when the command ends. Used by one thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace larder::build {

class Jobserver {
 public:
  // That of MAKEFLAGS (`--jobserver-auth=R,W` or `fifo:PATH`); null when it names none that can be used.
  static std::unique_ptr<Jobserver> of_flags(std::string_view flags);
  ~Jobserver();
  Jobserver(const Jobserver&) = delete;
  Jobserver& operator=(const Jobserver&) = delete;

  // Never waits. True: one more command may run.
  bool take();
  void give_back();
  // Can be read when there may be a token.
  int fd() const noexcept { return read_fd_; }

 private:
  Jobserver(int read_fd, int write_fd) noexcept : read_fd_(read_fd), write_fd_(write_fd) {}
  int read_fd_;
  int write_fd_;
  bool own_is_taken_ = false;
  std::string tokens_;
};

}  // namespace larder::build
