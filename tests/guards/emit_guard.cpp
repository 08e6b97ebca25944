// A full event to one listener, its time given: reading a clock is not ours to count.
#include <cstdio>

#include "larder/events.hpp"

extern "C" [[gnu::noinline]] void guarded() {
  if (!larder::is_listened()) return;
  larder::emit({.outcome = larder::Outcome::memory_hit,
                .tier = larder::Tier::memory,
                .unix_ns = 1,
                .recipe_kind = "opencl-program",
                .key = larder::Key{1, 2},
                .bytes = 4096,
                .cost = larder::Nanoseconds(1000),
                .saved = larder::Nanoseconds(1000)});
}

int main() {
  constexpr int kCalls = 100;
  std::uint64_t heard = 0;
  const auto subscription = larder::subscribe([&](const larder::Event& event) { heard += event.bytes; });
  for (int i = 0; i < kCalls; ++i) guarded();
  std::printf("calls %d\n", kCalls);
  return heard == 4096 * kCalls ? 0 : 1;
}
