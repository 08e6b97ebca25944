// A leaf of some fifty nanoseconds, asked for a million different results.
#include "program.hpp"

namespace {

__attribute__((noinline, annotate("reuse"))) int leaf(int number, int seed) {
  unsigned state = static_cast<unsigned>(number) * 2654435761u + static_cast<unsigned>(seed);
  for (int i = 0; i < 40; ++i) state = (state ^ state >> 15) * 2246822519u + 1;
  return static_cast<int>(state) + EXECUTED(number);
}

}  // namespace

volatile int calls = 1000000;

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = calls;
  for (int i = 0; i < end; ++i) sum += leaf(i, 7);
  return sum;
}
