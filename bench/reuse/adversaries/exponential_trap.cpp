// A knapsack whose light items weigh powers of two, so that whatever is looked at first never comes back; the
// heavy ones all weigh the same, and only far up in the tree do results repeat.
#include "program.hpp"

namespace {

int knapsack(int items, int limit) {
  if (items == 0) return 0;
  const int weight = items <= 14 ? 1 << items : 1 << 15;
  const int without = knapsack(items - 1, limit);
  if (weight > limit) return without + EXECUTED(items);
  const int with = weight + (limit & 1) + knapsack(items - 1, limit - weight);
  return (with > without ? with : without) + EXECUTED(items);
}

}  // namespace

volatile int items = 23;

extern "C" long long larder_bench_program() {
  return knapsack(items, 0x3ffffffe);
}
