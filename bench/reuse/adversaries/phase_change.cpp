// Three hundred thousand results that never come back, then as many out of a hundred, then different ones
// again.
#include "leaf.hpp"

volatile int calls = 300000;

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = calls;
  for (int i = 0; i < end; ++i) sum += leaf(i, 7);
  for (int i = 0; i < end; ++i) sum += leaf(i % 100, 7);
  for (int i = 0; i < end; ++i) sum += leaf(-i, 7);
  return sum;
}
