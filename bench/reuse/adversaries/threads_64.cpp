// Sixty-four threads, each with tables of its own: a leaf that repeats, one that does not, and a small tree.
#include <atomic>
#include <thread>
#include <vector>

#include "program.hpp"

namespace {

__attribute__((noinline, annotate("reuse"))) int leaf(int number, int seed) {
  unsigned state = static_cast<unsigned>(number) * 2654435761u + static_cast<unsigned>(seed);
  for (int i = 0; i < 40; ++i) state = (state ^ state >> 15) * 2246822519u + 1;
  return static_cast<int>(state) + EXECUTED(number);
}

int knapsack(int items, int limit) {
  if (items == 0) return 0;
  const int weight = 1 << items;
  const int without = knapsack(items - 1, limit);
  if (weight > limit) return without + EXECUTED(items);
  const int with = weight + (limit & 1) + knapsack(items - 1, limit - weight);
  return (with > without ? with : without) + EXECUTED(items);
}

}  // namespace

volatile int calls = 20000;

extern "C" long long larder_bench_program() {
  std::atomic<long long> sum{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t)
    threads.emplace_back([t, &sum] {
      long long own = 0;
      const int end = calls;
      for (int i = 0; i < end; ++i) own += leaf(i, t) + leaf(i % 50, t);
      sum += own + knapsack(17, 0x3ffffffe - t);
    });
  for (std::thread& thread : threads) thread.join();
  return sum;
}
