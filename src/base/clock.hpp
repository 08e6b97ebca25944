// Clock is where larder gets the time: steady time for durations, wall time for what is written down.
// Any thread may use any clock. Tests pass a FakeClock and move it by hand.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>

namespace larder {

inline constexpr std::int64_t kSecondNs = 1'000'000'000;

inline std::int64_t to_ns(const timespec& time) noexcept {
  // Some file systems date files centuries away: as far as the years 1843 and 2096, so that sums do not
  // overflow.
  constexpr std::int64_t kMost = 4'000'000'000;
  return std::clamp(std::int64_t{time.tv_sec}, -kMost, kMost) * kSecondNs + time.tv_nsec;
}

// Sleeps so long, or until a signal comes.
void pause(std::chrono::nanoseconds time) noexcept;

class Clock {
 public:
  // Never goes back; its zero means nothing.
  virtual std::chrono::nanoseconds steady() const noexcept = 0;
  // Nanoseconds since 1970; may jump either way.
  virtual std::int64_t unix_ns() const noexcept = 0;

  // The machine's clock; lives for ever.
  static const Clock& system() noexcept;

 protected:
  // Nobody owns one through this type, so that the machine's own needs no destructor at unload.
  ~Clock() = default;
};

class FakeClock final : public Clock {
 public:
  explicit FakeClock(std::int64_t unix_ns = 1'000'000'000'000'000'000) noexcept : unix_ns_(unix_ns) {}
  std::chrono::nanoseconds steady() const noexcept override {
    return std::chrono::nanoseconds(steady_ns_.load(std::memory_order_relaxed));
  }
  std::int64_t unix_ns() const noexcept override { return unix_ns_.load(std::memory_order_relaxed); }

  // Moves both times forward.
  void advance(std::chrono::nanoseconds by) noexcept {
    steady_ns_.fetch_add(by.count(), std::memory_order_relaxed);
    unix_ns_.fetch_add(by.count(), std::memory_order_relaxed);
  }
  // Lets the wall clock jump while steady time stands still.
  void set_unix_ns(std::int64_t unix_ns) noexcept { unix_ns_.store(unix_ns, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> steady_ns_{0};
  std::atomic<std::int64_t> unix_ns_;
};

}  // namespace larder
