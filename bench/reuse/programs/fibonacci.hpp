// Fibonacci as the textbook has it, and BY_HAND with a table. The second argument is where it begins.
#pragma once

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

#ifdef BY_HAND
extern "C" void larder_bench_forget() {
  std::memset(results, 0, sizeof results);
  std::memset(known, 0, sizeof known);
}
#endif
