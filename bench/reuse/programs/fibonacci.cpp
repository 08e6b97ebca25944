// Fibonacci: the n-th number, the textbook's way.
#include "fibonacci.hpp"  // and BY_HAND

volatile int last = 40;

extern "C" long long larder_bench_program() {
  return fibonacci(last, 0);
}
