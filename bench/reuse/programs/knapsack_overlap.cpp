// Knapsack with overlapping subproblems: thirty small items, a limit of 120.
#include <cstring>

#include "program.hpp"

namespace {

constexpr int kItems = 30;

#ifdef BY_HAND
int results[kItems + 1][128];
bool known[kItems + 1][128];
#endif

int weight(int item) {
  return item * 7 % 11 + 6;
}
int value(int item) {
  return item * 13 % 17 + 1;
}

int knapsack(int items, int limit) {
  if (items == 0) return 0;
#ifdef BY_HAND
  if (known[items][limit]) return results[items][limit];
#endif
  int best = knapsack(items - 1, limit) + EXECUTED(items);
  if (weight(items) <= limit) {
    const int with = value(items) + knapsack(items - 1, limit - weight(items));
    if (with > best) best = with;
  }
#ifdef BY_HAND
  known[items][limit] = true;
  results[items][limit] = best;
#endif
  return best;
}

}  // namespace

volatile int limit = 120;

#ifdef BY_HAND
extern "C" void larder_bench_forget() {
  std::memset(results, 0, sizeof results);
  std::memset(known, 0, sizeof known);
}
#endif

extern "C" long long larder_bench_program() {
  return knapsack(kItems, limit);
}
