// Global Access: a function that uses a global variable, which makes it impure.
#include "program.hpp"

int visits;

namespace {

int walk(int depth, int step) {
  ++visits;
  if (depth < 2) return depth + step;
  return walk(depth - 1, step) + walk(depth - 2, step) + (visits & 1);
}

}  // namespace

volatile int depth = 35;

extern "C" long long larder_bench_program() {
  visits = 0;
  const int walked = walk(depth, 1);
  return walked + visits;
}
