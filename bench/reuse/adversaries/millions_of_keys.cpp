// A million different results, then the same once more: each comes back, but too late for any table within
// the cap that was not worth its misses.
#include "program.hpp"

namespace {

__attribute__((noinline, annotate("reuse"))) int mixed(int number, int round) {
  unsigned state = static_cast<unsigned>(number) * 2654435761u + static_cast<unsigned>(round);
  for (int i = 0; i < 40; ++i) state = (state ^ state >> 15) * 2246822519u + 1;
  return static_cast<int>(state) + EXECUTED(number);
}

}  // namespace

volatile int keys = 1000000;

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = keys;
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < end; ++i) sum += mixed(i, 3);
  return sum;
}
