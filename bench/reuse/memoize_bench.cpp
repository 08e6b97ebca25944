// What larder::memoize costs: hits of a thread's own table, of a shared and of a kept memo, misses,
// recursion; beside calling the function, and beside what people write: an unordered_map under a mutex.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "larder/larder.hpp"
#include "larder/memoize.hpp"

namespace {

constexpr std::size_t kKeys = 500;

__attribute__((noinline)) int body(int a) {
  unsigned state = static_cast<unsigned>(a) * 2654435761u;
  for (int i = 0; i < 70; ++i) state = (state ^ state >> 15) * 2246822519u + 1;
  return static_cast<int>(state);
}
__attribute__((noinline)) int empty(int a) {
  benchmark::DoNotOptimize(a);
  return a;
}

const std::array<int, 4096>& order() {
  static const auto made = [] {
    std::array<int, 4096> keys{};
    std::uint64_t random = 88172645463325252;
    for (int& key : keys) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      key = static_cast<int>(random % kKeys);
    }
    return keys;
  }();
  return made;
}

template <typename Call>
void hits(benchmark::State& state, Call&& call) {
  const auto& keys = order();
  for (const int key : keys) benchmark::DoNotOptimize(call(key));
  for (auto _ : state)
    for (const int key : keys) benchmark::DoNotOptimize(call(key));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(keys.size()));
}

void empty_call(benchmark::State& state) {
  hits(state, empty);
}
void plain_call(benchmark::State& state) {
  hits(state, body);
}
void hit_of_the_threads_own(benchmark::State& state) {
  static auto memo = larder::memoize(body);
  hits(state, memo);
}
void hit_with_text(benchmark::State& state) {
  auto memo = larder::memoize([](const std::string& text) { return static_cast<int>(text.size()); });
  std::array<std::string, kKeys> texts;
  for (std::size_t i = 0; i < kKeys; ++i)
    texts[i] = "an argument of some length, number " + std::to_string(i);
  hits(state, [&](int key) { return memo(texts[static_cast<std::size_t>(key)]); });
}
void hit_of_a_shared_memo(benchmark::State& state) {
  static auto memo = larder::memoize(body, {.is_shared = true});
  hits(state, memo);
}
void hit_of_a_map_under_a_mutex(benchmark::State& state) {
  static std::mutex mutex;
  static std::unordered_map<int, int> map;
  hits(state, [&](int key) {
    {
      const std::lock_guard lock(mutex);
      if (const auto found = map.find(key); found != map.end()) return found->second;
    }
    const int value = body(key);
    const std::lock_guard lock(mutex);
    return map.emplace(key, value).first->second;
  });
}
void miss(benchmark::State& state) {
  auto memo = larder::memoize(empty);
  int key = 0;
  for (auto _ : state) benchmark::DoNotOptimize(memo(++key));
}
void miss_of_a_shared_memo(benchmark::State& state) {
  auto memo = larder::memoize(empty, {.is_shared = true});
  int key = 0;
  for (auto _ : state) benchmark::DoNotOptimize(memo(++key));
}
void ways_through_a_grid(benchmark::State& state) {
  auto ways =
      larder::memoize<std::uint64_t(int, int)>([](auto& self, int rows, int columns) -> std::uint64_t {
        return rows == 0 || columns == 0 ? 1 : self(rows - 1, columns) + self(rows, columns - 1);
      });
  for (auto _ : state) {
    state.PauseTiming();
    ways.clear();
    state.ResumeTiming();
    benchmark::DoNotOptimize(ways(60, 60));
  }
  state.SetItemsProcessed(state.iterations() * 60 * 60);
}

BENCHMARK(empty_call);
BENCHMARK(plain_call);
BENCHMARK(hit_of_the_threads_own)->ThreadRange(1, 2);
BENCHMARK(hit_with_text);
BENCHMARK(hit_of_a_shared_memo)->ThreadRange(1, 2);
BENCHMARK(hit_of_a_map_under_a_mutex)->ThreadRange(1, 2);
BENCHMARK(miss)->Iterations(1 << 20);
BENCHMARK(miss_of_a_shared_memo)->Iterations(1 << 16);
BENCHMARK(ways_through_a_grid);

}  // namespace
