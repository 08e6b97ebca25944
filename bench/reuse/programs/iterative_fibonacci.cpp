// Iterative Fibonacci ST: Fibonacci functions with differing n, one after the other.
#include <cstring>

#include "program.hpp"

namespace {

#ifndef BY_HAND
int fibonacci(int n, int first) {
  if (n < 2) return n + first;
  return fibonacci(n - 1, first) + fibonacci(n - 2, first) + EXECUTED(n);
}
#else
int results[64];
bool known[64];

int fibonacci(int n, int first) {
  if (n < 2) return n + first;
  if (known[n]) return results[n];
  known[n] = true;
  return results[n] = fibonacci(n - 1, first) + fibonacci(n - 2, first);
}
#endif

}  // namespace

volatile int last = 38;

#ifdef BY_HAND
extern "C" void larder_bench_forget() {
  std::memset(results, 0, sizeof results);
  std::memset(known, 0, sizeof known);
}
#endif

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = last;
  for (int n = 0; n <= end; ++n) sum += fibonacci(n, 0);
  return sum;
}
