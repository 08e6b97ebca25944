// Progress shows on a terminal how far long work has come: nothing for the first 300 ms, then one line,
// redrawn every 100 ms and gone at the end. Elsewhere it does nothing. Any thread may advance.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "base/mutex.hpp"
#include "tool/console.hpp"

namespace larder::tool {

class Progress {
 public:
  // `total` 0: not known yet.
  Progress(Console& console, std::string what, std::uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(std::uint64_t by = 1) noexcept { done_.fetch_add(by, std::memory_order_relaxed); }
  void set_total(std::uint64_t total) noexcept { total_.store(total, std::memory_order_relaxed); }

  static constexpr std::chrono::milliseconds kSilence{300};
  static constexpr std::chrono::milliseconds kRedraw{100};

 private:
  void draw_until_stopped();
  std::string line() const;

  Console& console_;
  const std::string what_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> total_;
  Mutex mutex_;
  Condition stopped_;
  bool is_stopped_ GUARDED_BY(mutex_) = false;
  std::thread painter_;
};

}  // namespace larder::tool
