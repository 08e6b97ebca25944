#include "program/ending.hpp"

#include <atomic>
#include <cstdlib>

namespace larder::guest {
namespace {

constinit std::atomic<bool> process_ends{false};

// Has no destructor, so that it can be read when all others of the thread have run.
constinit thread_local bool thread_ends = false;

struct AtThreadEnd {
  ~AtThreadEnd() { thread_ends = true; }
};

}  // namespace

void watch_end() noexcept {
  if (std::atexit([] { process_ends.store(true, std::memory_order_relaxed); }) != 0)
    process_ends.store(true, std::memory_order_relaxed);
}

bool is_ending() noexcept {
  if (thread_ends || process_ends.load(std::memory_order_relaxed)) return true;
  // Made after the driver's own, and so gone before them.
  static thread_local AtThreadEnd at_end;
  static_cast<void>(at_end);
  return false;
}

}  // namespace larder::guest
