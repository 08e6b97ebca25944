// Knapsack: the most weight that fits a limit. Weights are powers of two: no limit is ever met twice.
#include "knapsack.hpp"

volatile int items = 21;

extern "C" long long larder_bench_program() {
  return knapsack(items, 0x7ffffffe);
}
