// Counters count what one cache or one tier did: outcomes, reasons, seconds saved, bytes evicted and so on.
// Any thread may count and read at any time. Counting touches only memory of the calling thread (about a
// nanosecond); reading sums over the threads, those that have ended included. A forked child starts at zero.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "larder/event.hpp"
#include "larder/export.h"

namespace larder {

// What is counted besides outcomes and reasons. Numbers are stored: they never change meaning.
enum class Counter : std::uint8_t {
  waits = 0,            // requests that waited for another's making
  wait_ns = 1,          // how long they waited
  making_ns = 2,        // cost that was paid
  retries = 3,          // makings repeated after a transient failure or after making room
  stored = 4,           // entries kept
  stored_bytes = 5,     // their weight
  evicted = 6,          // entries that had to leave
  evicted_bytes = 7,    // their weight
  evicted_cost_ns = 8,  // what making them had cost
  would_have_hit = 9,   // misses on an entry that had been evicted not long ago
  damaged = 10,         // entries that failed their check
  warnings = 11,        // warning events
};
inline constexpr std::size_t kCounterCount = 12;
LARDER_API std::string_view name(Counter counter) noexcept;

// A reading of Counters: a plain value that can be added to another, subtracted and stored word by word.
class LARDER_API CounterTotals {
 public:
  // Words in order; the place of each count never changes.
  static constexpr std::size_t kWords = 112;
  std::array<std::uint64_t, kWords> words{};

  std::uint64_t operator[](Outcome outcome) const noexcept { return words[place(outcome)]; }
  std::uint64_t operator[](Reason reason) const noexcept { return words[place(reason)]; }
  std::uint64_t operator[](Counter counter) const noexcept { return words[place(counter)]; }
  // Cost that was not paid because of this outcome.
  Nanoseconds saved(Outcome outcome) const noexcept {
    return Nanoseconds(static_cast<std::int64_t>(words[place(outcome) + 1]));
  }
  Nanoseconds saved() const noexcept;
  // Requests of every outcome; hits are those answered by a tier or by joining.
  std::uint64_t requests() const noexcept;
  std::uint64_t hits() const noexcept;

  CounterTotals& operator+=(const CounterTotals& other) noexcept;
  // `earlier` must be an earlier reading of the same counters.
  CounterTotals& operator-=(const CounterTotals& earlier) noexcept;
  friend bool operator==(const CounterTotals&, const CounterTotals&) = default;

  // An outcome's count and what it saved are neighbours, so that a hit stays within one cache line.
  static constexpr std::size_t place(Outcome outcome) noexcept {
    return 2 * static_cast<std::size_t>(outcome);
  }
  static constexpr std::size_t place(Reason reason) noexcept { return 32 + static_cast<std::size_t>(reason); }
  static constexpr std::size_t place(Counter counter) noexcept {
    return 80 + static_cast<std::size_t>(counter);
  }
};

namespace detail {

using CounterWord = std::atomic<std::uint64_t>;

// The calling thread's words, by the number of the set; null where it has not counted in that set yet. Those
// of the set it counted in last stand in front: most threads go on with the same.
struct ThreadCounters {
  std::uint64_t last = 0;  // that set's serial number
  CounterWord* words = nullptr;
  std::atomic<CounterWord*>* sets = nullptr;
  std::size_t size = 0;
};

#define LARDER_INITIAL_EXEC __attribute__((tls_model("initial-exec")))
LARDER_API extern constinit thread_local ThreadCounters t_counters LARDER_INITIAL_EXEC;

struct CounterSet;

}  // namespace detail

class LARDER_API Counters {
 public:
  // Throws std::bad_alloc. The first one of the process begins the log that LARDER_LOG asks for. What is not
  // `for_process` is left out of process_totals(): another set counts the same there.
  explicit Counters(bool for_process = true);
  // Nobody may count here any more. What was counted stays in process_totals().
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  void count(Outcome outcome) noexcept { add(CounterTotals::place(outcome), 1); }
  // An outcome that saved so much, or so many of them that saved so much together.
  [[gnu::always_inline]] void count(Outcome outcome, Nanoseconds saved, std::uint64_t times = 1) noexcept {
    const std::size_t place = CounterTotals::place(outcome);
    const auto nanoseconds = static_cast<std::uint64_t>(saved.count());
    const detail::ThreadCounters& thread = detail::t_counters;
    if (thread.last == serial_) [[likely]] {
      detail::CounterWord* const words = thread.words;
      increase(words[place], times);
      increase(words[place + 1], nanoseconds);
    } else {
      count_elsewhere(place, times, nanoseconds);
    }
  }
  void count(Reason reason) noexcept { add(CounterTotals::place(reason), 1); }
  void count(Counter counter, std::uint64_t by = 1) noexcept { add(CounterTotals::place(counter), by); }

  // Whatever happened before the call is in it. O(threads that counted here).
  CounterTotals totals() const noexcept;
  // The sum over every set of this process, those destroyed included.
  static CounterTotals process_totals() noexcept;

 private:
  // One writer, so a load and a store are enough; readers see one value or the next.
  static void increase(detail::CounterWord& word, std::uint64_t by) noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
    // One instruction for what compilers make three of.
    if (sizeof word == sizeof by) {
      asm("addq %1, %0" : "+m"(word) : "er"(by) : "cc");
      return;
    }
#endif
    word.store(word.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  void add(std::size_t place, std::uint64_t by) noexcept {
    const detail::ThreadCounters& thread = detail::t_counters;
    if (thread.last == serial_) [[likely]] {
      increase(thread.words[place], by);
    } else {
      count_elsewhere(place, by, 0);
    }
  }
  // The calling thread counted in another set last, or never in this one: finds its words or gives it some,
  // and adds to them; to shared ones when it is ending or memory is out. What is not zero of `saved` goes to
  // the next place.
  void count_elsewhere(std::size_t place, std::uint64_t by, std::uint64_t saved) noexcept;
  detail::CounterWord* attach() noexcept;

  std::uint64_t serial_;  // no other set of this process has or had it
  std::size_t number_ = 0;
  detail::CounterSet* set_;
};

}  // namespace larder
