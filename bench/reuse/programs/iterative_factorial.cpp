// Iterative Factorial ST: the factorial of n, where n ranges from 0 to 1000; numbers wrap round.
#include <cstring>

#include "program.hpp"

namespace {

#ifndef BY_HAND
int factorial(int n, int unit) {
  if (n == 0) return unit;
  return static_cast<int>(static_cast<unsigned>(n) *
                          static_cast<unsigned>(factorial(n - 1, unit) + EXECUTED(n)));
}
#else
int results[1024];
bool known[1024];

int factorial(int n, int unit) {
  if (n == 0) return unit;
  if (known[n]) return results[n];
  known[n] = true;
  return results[n] =
             static_cast<int>(static_cast<unsigned>(n) * static_cast<unsigned>(factorial(n - 1, unit)));
}
#endif

}  // namespace

volatile int last = 1000;

#ifdef BY_HAND
extern "C" void larder_bench_forget() {
  std::memset(results, 0, sizeof results);
  std::memset(known, 0, sizeof known);
}
#endif

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = last;
  for (int n = 0; n <= end; ++n) sum += factorial(n, 1);
  return sum;
}
