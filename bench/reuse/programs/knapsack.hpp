// The most weight that fits a limit, of items whose weights are powers of two: no limit is ever met twice.
#pragma once

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
