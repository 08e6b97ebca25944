// Preload streams what a program's previous start used first from the store into memory, on a thread of low
// priority, within bounds of bytes and time. One thread starts and stops it.
//
// An entry is taken in once it is wholly read, so a request never waits for the reading: at worst it reads
// the same file itself. The recipe is read before the product; an entry that does not fit is passed over
// unread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "cache/start_order.hpp"
#include "store/store.hpp"

namespace larder {

struct PreloadOptions {
  std::vector<FirstUse> order;
  std::uint64_t bytes_max = 0;           // 0: no limit
  std::chrono::nanoseconds time_max{0};  // 0: no limit
  // Whether an entry fits this machine: its driver, its build. Empty: all do. Called on the preloading
  // thread.
  std::function<bool(const Recipe&)> fits;
  // Keeps an entry in memory unless it is there already. Must not throw.
  std::function<void(const Recipe&, Entry)> take;
};

struct PreloadReport {
  std::uint64_t loaded = 0;
  std::uint64_t loaded_bytes = 0;
  std::uint64_t unfit = 0;  // passed over without reading the product
  bool is_done = false;     // came to the end of the order or of a bound
};

class Preload {
 public:
  // The store must live until stop().
  Preload(Store& store, PreloadOptions options);
  ~Preload() { stop(); }
  Preload(const Preload&) = delete;
  Preload& operator=(const Preload&) = delete;

  // Waits for at most the entry that is being read.
  void stop() noexcept;
  // True when it came to its end in time.
  bool wait(std::chrono::nanoseconds deadline) const;
  PreloadReport report() const noexcept;
  // In a forked child there is no thread to wait for.
  void forget_thread() noexcept;

 private:
  void run();
  void read_ahead();

  Store& store_;
  const PreloadOptions options_;
  std::atomic<bool> stops_{false};
  std::atomic<bool> is_done_{false};
  std::atomic<std::uint64_t> loaded_{0};
  std::atomic<std::uint64_t> loaded_bytes_{0};
  std::atomic<std::uint64_t> unfit_{0};
  std::unique_ptr<std::thread> thread_;
};

}  // namespace larder
