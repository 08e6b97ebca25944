// Print Statement: a function that prints.
#include <cstdio>

#include "program.hpp"

namespace {

int report(int number, int step) {
  std::printf("%d: %d\n", number, number * step);
  return number ^ step;
}

}  // namespace

volatile int lines = 300000;

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = lines;
  for (int i = 0; i < end; ++i) sum += report(i % 1000, i % 7);
  std::fflush(stdout);
  return sum;
}
