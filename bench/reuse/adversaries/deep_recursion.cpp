// A recursion as deep as eight megabytes of stack allow for its plain frames, never with the same arguments.
#include "program.hpp"

namespace {

__attribute__((noinline)) int fold(int a, int b) {
  return a / 3 + b;
}

int deep(int depth, int seed) {
  if (depth == 0) return seed;
  const int below = deep(depth - 1, seed + 1);
  return fold(below, depth ^ seed) + EXECUTED(depth);
}

}  // namespace

volatile int depth = 100000;

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = depth;
  for (int i = 0; i < 40; ++i) sum += deep(end, i * 1000000);
  return sum;
}
