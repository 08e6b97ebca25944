// Work on many things at once, by as many threads as pay for themselves.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace larder::build {

// Of a machine that does nothing else.
inline std::size_t threads_for_all() noexcept {
  return std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
}

// Calls prepare(i) for every i below `count`, in order and on this thread, and work(i) some time after, from
// more threads when there are at least `many`.
template <typename Prepare, typename Work>
void for_all_prepared(std::size_t count, std::size_t many, const Prepare& prepare, const Work& work) {
  const std::size_t threads = count < many ? 1 : threads_for_all();
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> prepared{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      for (std::size_t so_far = prepared.load(std::memory_order_acquire); so_far <= i;
           so_far = prepared.load(std::memory_order_acquire))
        prepared.wait(so_far, std::memory_order_acquire);
      work(i);
    }
  };
  std::vector<std::jthread> others;
  try {
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run);
  } catch (const std::system_error&) {  // then this one does more of it
  }
  for (std::size_t i = 0; i < count; ++i) {
    prepare(i);
    prepared.store(i + 1, std::memory_order_release);
    if (threads != 1) prepared.notify_all();
  }
  run();
}

// Calls work(i) for every i below `count`, `at_once` of them in a row, from more threads when there are at
// least `many`.
template <typename Work>
void for_all(std::size_t count, std::size_t at_once, std::size_t many, const Work& work) {
  const std::size_t threads = count < many ? 1 : threads_for_all();
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (;;) {
      const std::size_t begin = next.fetch_add(at_once, std::memory_order_relaxed);
      if (begin >= count) return;
      for (std::size_t i = begin; i < std::min(begin + at_once, count); ++i) work(i);
    }
  };
  std::vector<std::jthread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run);
  run();
}

}  // namespace larder::build
