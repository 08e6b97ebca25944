// Knapsack: the most weight that fits a limit. Weights are powers of two: no limit is ever met twice.
#include "program.hpp"

namespace {

int knapsack(int items, int limit) {
  if (items == 0) return 0;
  const int weight = 1 << items;
  const int without = knapsack(items - 1, limit);
  if (weight > limit) return without + EXECUTED(items);
  const int with = weight + (limit & 1) + knapsack(items - 1, limit - weight);
  return (with > without ? with : without) + EXECUTED(items);
}

}  // namespace

volatile int items = 21;

extern "C" long long larder_bench_program() {
  return knapsack(items, 0x7ffffffe);
}
