// Iterative Fibonacci ST: Fibonacci functions with differing n, one after the other.
#include "fibonacci.hpp"  // and BY_HAND

volatile int last = 38;

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = last;
  for (int n = 0; n <= end; ++n) sum += fibonacci(n, 0);
  return sum;
}
