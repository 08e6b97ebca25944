#include "base/clock.hpp"

#include <ctime>

namespace larder {
namespace {

std::int64_t now_ns(clockid_t clock) noexcept {
  // The C++ clocks end in this call too; a process that asks once pays for finding each function.
  timespec time{};
  ::clock_gettime(clock, &time);
  return to_ns(time);
}

class SystemClock final : public Clock {
 public:
  std::chrono::nanoseconds steady() const noexcept override {
    return std::chrono::nanoseconds(now_ns(CLOCK_MONOTONIC));
  }
  std::int64_t unix_ns() const noexcept override { return now_ns(CLOCK_REALTIME); }
};

constinit const SystemClock machine_clock;

}  // namespace

const Clock& Clock::system() noexcept {
  return machine_clock;
}

void pause(std::chrono::nanoseconds time) noexcept {
  timespec rest{};
  rest.tv_sec = static_cast<time_t>(time.count() / kSecondNs);
  rest.tv_nsec = static_cast<long>(time.count() % kSecondNs);
  ::nanosleep(&rest, nullptr);
}

}  // namespace larder
