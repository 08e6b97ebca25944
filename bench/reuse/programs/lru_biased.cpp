// LRU Biased: the 0th and the i-th function, i incremented on every iteration; each calls the one before it.
#include <cstring>

#include "program.hpp"

namespace {

#ifdef BY_HAND
int results[8192];
bool known[8192];
#endif

int biased(int i, int seed) {
  if (i == 0) return seed;
#ifdef BY_HAND
  if (known[i]) return results[i];
#endif
  const unsigned before = static_cast<unsigned>(biased(i - 1, seed) + EXECUTED(i));
  const int result = static_cast<int>((before ^ static_cast<unsigned>(i)) * 5 + 1);
#ifdef BY_HAND
  known[i] = true;
  results[i] = result;
#endif
  return result;
}

}  // namespace

volatile int iterations = 8000;

#ifdef BY_HAND
extern "C" void larder_bench_forget() {
  std::memset(results, 0, sizeof results);
  std::memset(known, 0, sizeof known);
}
#endif

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = iterations;
  for (int i = 1; i <= end; ++i) sum += biased(0, 17) + biased(i, 17);
  return sum;
}
