// What a hit costs where it stands: a function of some 160 ns, called with 500 arguments in random order,
// beside an empty function in the same loop. Prints nanoseconds per call of both, of a loop with neither, and
// of the body. Compiled with the plugin.
#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>

namespace {

double now_ns() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

__attribute__((noinline)) int body(int a, int b) {
  unsigned state = static_cast<unsigned>(a) * 2654435761u + static_cast<unsigned>(b);
  for (int i = 0; i < 70; ++i) state = (state ^ state >> 15) * 2246822519u + 1;
  return static_cast<int>(state);
}
__attribute__((noinline, annotate("noreuse"))) int unmemoized(int a, int b) {
  unsigned state = static_cast<unsigned>(a) * 2654435761u + static_cast<unsigned>(b);
  for (int i = 0; i < 70; ++i) state = (state ^ state >> 15) * 2246822519u + 1;
  return static_cast<int>(state);
}
__attribute__((noinline)) int empty(int a, int) {
  asm volatile("");
  return a;
}

constexpr int kKeys = 500;
std::array<int, 4096> order;

template <typename Call>
double per_call(Call call, int rounds) {
  unsigned sum = 0;
  const double begin = now_ns();
  for (int round = 0; round < rounds; ++round)
    for (const int key : order) sum += static_cast<unsigned>(call(key, 3));
  const double took = now_ns() - begin;
  asm volatile("" : : "r"(sum));
  return took / rounds / static_cast<double>(order.size());
}

}  // namespace

int main() {
  std::uint64_t random = 88172645463325252;
  for (int& key : order) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    key = static_cast<int>(random % kKeys);
  }
  (void)per_call([](int a, int b) { return body(a, b); }, 200);
  for (int trial = 0; trial < 9; ++trial) {
    const double hit = per_call([](int a, int b) { return body(a, b); }, 500);
    const double call = per_call([](int a, int b) { return empty(a, b); }, 500);
    const double loop = per_call([](int a, int b) { return a ^ b; }, 500);
    const double plain = per_call([](int a, int b) { return unmemoized(a, b); }, 5);
    std::printf("%.4f %.4f %.4f %.4f\n", hit, call, loop, plain);
  }
  return 0;
}
