// Matrix chain with overlapping subproblems: one chain of fifteen.
#include <cstring>

#include "program.hpp"

namespace {

int rows(int matrix) {
  return static_cast<int>((static_cast<unsigned>(matrix) * 2654435761u >> 27) + 1);
}

#ifdef BY_HAND
int results[16][16];
bool known[16][16];
#endif

int chain(int first, int last) {
  if (first == last) return 0;
#ifdef BY_HAND
  if (known[first][last]) return results[first][last];
#endif
  int least = 0x7fffffff;
  for (int middle = first; middle < last; ++middle) {
    const int products =
        chain(first, middle) + chain(middle + 1, last) + rows(first) * rows(middle + 1) * rows(last + 1);
    if (products < least) least = products;
  }
  least += EXECUTED(last);
#ifdef BY_HAND
  known[first][last] = true;
  results[first][last] = least;
#endif
  return least;
}

}  // namespace

volatile int length = 15;

#ifdef BY_HAND
extern "C" void larder_bench_forget() {
  std::memset(results, 0, sizeof results);
  std::memset(known, 0, sizeof known);
}
#endif

extern "C" long long larder_bench_program() {
  return chain(0, length - 1);
}
