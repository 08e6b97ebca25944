// A leaf of two nanoseconds, which no table can be quicker than, although everything comes back.
#include "program.hpp"

namespace {

__attribute__((noinline)) int leaf(int number, int seed) {
  return number * 17 + (seed ^ number) / 8 + EXECUTED(number);
}

}  // namespace

volatile int calls = 10000000;

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = calls;
  for (int i = 0; i < end; ++i) sum += leaf(i & 15, 7);
  return sum;
}
