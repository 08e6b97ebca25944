// Ten hits of a memoized function where they stand, once its table is on. Compiled by clang with the plugin.
#include <cstdio>

namespace {

constexpr int kHits = 10;

__attribute__((noinline, annotate("reuse"))) int body(int a, int b) {
  unsigned state = static_cast<unsigned>(a) * 2654435761u + static_cast<unsigned>(b);
  for (int i = 0; i < 70; ++i) state = (state ^ state >> 15) * 2246822519u + 1;
  return static_cast<int>(state);
}

}  // namespace

extern "C" __attribute__((noinline)) unsigned guarded() {
  unsigned sum = 0;
  for (int i = 0; i < kHits; ++i) {
    asm volatile("");  // else this were pure as well, and called once
    sum += static_cast<unsigned>(body(i, 3));
  }
  return sum;
}

int main() {
  constexpr int kCalls = 2000;  // the first hundred or so look whether it pays
  unsigned sum = 0;
  for (int i = 0; i < kCalls; ++i) sum += guarded();
  std::printf("calls %d\n", kCalls);
  return sum == kCalls * guarded() ? 0 : 1;
}
