// A call that the kernel has halted: taken in from a listener, and let go on. Used by one thread.
#pragma once

#include <linux/seccomp.h>

#include <cstddef>
#include <vector>

namespace larder::trace {

class Halted {
 public:
  Halted();
  // The next one; waits for it. False: there is none any more, its task was killed.
  bool receive(int listener) noexcept;
  const seccomp_notif& call() const noexcept { return *reinterpret_cast<const seccomp_notif*>(call_.data()); }
  void let_go(int listener) noexcept;

 private:
  // The kernel's structures may have grown.
  std::vector<std::max_align_t> call_;
  std::vector<std::max_align_t> answer_;
};

// Has the kernel run the two sides of a listener one after the other on one core, where it knows how to.
void take_turns(int listener) noexcept;

}  // namespace larder::trace
