// Sixty-four threads, each with tables of its own: a leaf that repeats, one that does not, and a small tree.
#include <atomic>
#include <thread>
#include <vector>

#include "knapsack.hpp"
#include "leaf.hpp"

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
