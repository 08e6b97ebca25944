// Matrix Chain Multiplication: the least number of products for a chain of four, a new chain every time. A
// matrix's rows follow from its number.
#include "program.hpp"

namespace {

int rows(int matrix) {
  return static_cast<int>((static_cast<unsigned>(matrix) * 2654435761u >> 27) + 1);
}

int chain(int first, int last) {
  if (first == last) return 0;
  int least = 0x7fffffff;
  for (int middle = first; middle < last; ++middle) {
    const int products =
        chain(first, middle) + chain(middle + 1, last) + rows(first) * rows(middle + 1) * rows(last + 1);
    if (products < least) least = products;
  }
  return least + EXECUTED(last);
}

#ifdef BY_HAND
int by_hand(int first) {
  int table[4][4] = {};
  for (int length = 2; length <= 4; ++length) {
    for (int i = 0; i + length <= 4; ++i) {
      const int last = i + length - 1;
      int least = 0x7fffffff;
      for (int middle = i; middle < last; ++middle) {
        const int products = table[i][middle] + table[middle + 1][last] +
                             rows(first + i) * rows(first + middle + 1) * rows(first + last + 1);
        if (products < least) least = products;
      }
      table[i][last] = least;
    }
  }
  return table[0][3];
}
#endif

}  // namespace

volatile int chains = 5300;

extern "C" long long larder_bench_program() {
  long long sum = 0;
  const int end = chains;
#ifdef BY_HAND
  for (int i = 0; i < end; ++i) sum += by_hand(8 * i);
  if (end < 0) sum += chain(0, 1);
#else
  for (int i = 0; i < end; ++i) sum += chain(8 * i, 8 * i + 3);
#endif
  return sum;
}
