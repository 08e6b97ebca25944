// Rule 6: of an 80-bit number only the 80 bits count.
// REMARK: wide: memoized
// IR: zext i80
// RUN
#include <stdio.h>
long double wide(long double x, int n) { return n < 2 ? x : wide(x * 1.5L, n - 1) + wide(x / 3, n - 2); }
int main(void) {
  for (int i = 0; i < 12; ++i) printf("%.20Lg\n", wide(i % 3, 20));
  return 0;
}
