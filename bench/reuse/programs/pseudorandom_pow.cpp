// Pseudorandom Pow ST: the 400th power of 40, the 1600th of 160 and the 6400th of 640, computed recursively,
// on every second, every third and every other iteration; modulo a prime, so that they fit an int.
#include "program.hpp"

namespace {

int power(int base, int exponent) {
  if (exponent == 0) return 1;
  return static_cast<int>(static_cast<long long>(base) * (power(base, exponent - 1) + EXECUTED(exponent)) %
                          1000003);
}

#ifdef BY_HAND
struct {
  int base, exponent, result;
} known[4];
int count;

int remembered(int base, int exponent) {
  for (int i = 0; i < count; ++i)
    if (known[i].base == base && known[i].exponent == exponent) return known[i].result;
  known[count] = {base, exponent, power(base, exponent)};
  return known[count++].result;
}
#else
int remembered(int base, int exponent) {
  return power(base, exponent);
}
#endif

}  // namespace

volatile int iterations = 1000;

#ifdef BY_HAND
extern "C" void larder_bench_forget() {
  count = 0;
}
#endif

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = iterations;
  for (int i = 0; i < end; ++i) {
    if (i % 2 == 0)
      sum += remembered(40, 400);
    else if (i % 3 == 0)
      sum += remembered(160, 1600);
    else
      sum += remembered(640, 6400);
  }
  return sum;
}
