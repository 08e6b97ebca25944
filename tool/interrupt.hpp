// While an Interrupt lives, the first Ctrl-C or SIGTERM asks the work to stop instead of ending the process;
// the second one ends it. One at a time.
#pragma once

#include <csignal>

namespace larder::tool {

class Interrupt {
 public:
  Interrupt() noexcept;
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // True once somebody asked: stop at the next safe point and return kInterrupted.
  static bool is_requested() noexcept;
  // For tests: the next Interrupt finds itself asked when is_requested() has been called so often.
  static void request_after(unsigned checks) noexcept;

 private:
  struct sigaction old_interrupt_ {};
  struct sigaction old_terminate_ {};
};

}  // namespace larder::tool
