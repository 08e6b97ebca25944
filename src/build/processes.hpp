// The commands that run: started without a shell where that makes no difference, each in a process group of
// its own, what they write taken in. Used by one thread, one object at a time: it listens to the process's
// signals.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "larder/result.hpp"
#include "trace/tracer.hpp"

namespace larder::build {

// While it lives, SIGINT, SIGTERM and SIGHUP are noted instead of ending the process, and are let in only
// while Processes waits.
class StopSignals {
 public:
  StopSignals() noexcept;
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  // The first signal that came; 0: none.
  static int received() noexcept;
  // Waits so long for one, and says the same.
  int wait(int timeout_ms) noexcept;
  // The mask that commands run with.
  const sigset_t& outer_mask() const noexcept { return outer_mask_; }

 private:
  sigset_t outer_mask_{};
  struct sigaction old_[3]{};
};

class Processes {
 public:
  explicit Processes(const StopSignals& signals) noexcept : signals_(signals) {}
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  // Starts `command` and gives it a number. On the console it has the terminal for itself, else its input is
  // empty and its output is kept for wait(). It inherits `inherited`, if that is a descriptor. With a
  // `tracer`, one that can trace, it is traced; `sees_links` as trace::Launch.
  Result<void> start(unsigned number, const std::string& command, bool on_console, int inherited = -1,
                     trace::Tracer* tracer = nullptr, bool sees_links = true);
  std::size_t running() const noexcept { return children_.size(); }

  struct Ended {
    unsigned number = 0;
    int code = 0;          // what a shell would say: 128 and the signal that ended it
    bool by_stop = false;  // ended by SIGINT, SIGTERM or SIGHUP
    std::string output;
    std::optional<trace::Report> report;  // of one that was traced
  };
  // Waits for one to end; none when `timeout_ms` passed (-1: never), a stop signal came or one of
  // the others can be read.
  std::optional<Ended> wait(int timeout_ms, int also_fd = -1, int another_fd = -1);
  void signal_all(int signal) noexcept;
  void signal_one(unsigned number, int signal) noexcept;

 private:
  struct Child {
    unsigned number;
    pid_t pid;
    int output_fd;  // -1: closed, or on the console
    int pid_fd;     // -1: not asked for yet
    bool on_console;
    std::string output;
    trace::Tracer* tracer;  // null: it is not traced
    std::unique_ptr<trace::Tracer::Command> traced;
  };
  Ended end(std::size_t index, int status);
  bool read_output(Child& child);
  int null_fd();

  const StopSignals& signals_;
  std::vector<Child> children_;
  int null_fd_ = -1;
};

}  // namespace larder::build
