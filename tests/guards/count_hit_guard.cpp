// A hit and what it saved, counted ten times by a thread that has counted before.
#include <cstdio>

#include "larder/counters.hpp"

extern "C" [[gnu::noinline]] void guarded(larder::Counters& counters) {
  for (int i = 0; i < 10; ++i) {
    counters.count(larder::Outcome::memory_hit, larder::Nanoseconds(1000));
    asm volatile("" ::: "memory");
  }
}

int main() {
  constexpr int kCalls = 100;
  larder::Counters counters;
  counters.count(larder::Outcome::memory_hit);
  for (int i = 0; i < kCalls; ++i) guarded(counters);
  std::printf("calls %d\n", kCalls);
  return counters.totals()[larder::Outcome::memory_hit] == 10 * kCalls + 1 ? 0 : 1;
}
