// What observing costs: counting a hit (bar: 2 ns), an event that nobody hears, a full event (bar: 60 ns).
#include <benchmark/benchmark.h>

#include <atomic>

#include "larder/counters.hpp"
#include "larder/events.hpp"

namespace {

using namespace larder;

Counters& counters() {
  static auto* const kept = new Counters;
  return *kept;
}

void count_hit(benchmark::State& state) {
  Counters& mine = counters();
  for (auto _ : state) {
    mine.count(Outcome::memory_hit);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(count_hit)->ThreadRange(1, 2);

void count_hit_and_saved(benchmark::State& state) {
  Counters& mine = counters();
  Nanoseconds saved{1000};
  for (auto _ : state) {
    benchmark::DoNotOptimize(saved);
    mine.count(Outcome::memory_hit, saved);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(count_hit_and_saved)->ThreadRange(1, 2);

// The peer: one shared word, as most statistics are kept.
std::atomic<std::uint64_t> shared_word{0};
void count_in_a_shared_atomic(benchmark::State& state) {
  for (auto _ : state) shared_word.fetch_add(1, std::memory_order_relaxed);
}
BENCHMARK(count_in_a_shared_atomic)->ThreadRange(1, 2);

void tell(Outcome outcome, Nanoseconds saved) {
  if (!is_listened()) return;
  emit({.kind = EventKind::request,
        .outcome = outcome,
        .tier = Tier::memory,
        .recipe_kind = "opencl-program",
        .key = Key{1, 2},
        .bytes = 4096,
        .cost = saved,
        .saved = saved,
        .duration = Nanoseconds(25)});
}

void event_nobody_hears(benchmark::State& state) {
  Nanoseconds saved{1000};
  for (auto _ : state) {
    benchmark::DoNotOptimize(saved);
    tell(Outcome::memory_hit, saved);
  }
}
BENCHMARK(event_nobody_hears);

void event_one_listener_hears(benchmark::State& state) {
  std::atomic<std::uint64_t> heard{0};
  auto subscription = subscribe([&](const Event& event) {
    heard.store(heard.load(std::memory_order_relaxed) + event.bytes, std::memory_order_relaxed);
  });
  Nanoseconds saved{1000};
  for (auto _ : state) {
    benchmark::DoNotOptimize(saved);
    tell(Outcome::memory_hit, saved);
  }
  if (heard.load() == 0) state.SkipWithError("nobody heard");
}
BENCHMARK(event_one_listener_hears);

void totals_of_one_set(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(counters().totals());
}
BENCHMARK(totals_of_one_set);

}  // namespace
