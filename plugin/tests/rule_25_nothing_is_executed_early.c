// Rule 25: the body runs only where it was called: a division by zero stays where it was.
// REMARK: divide: memoized
// RUN
#include <stdio.h>
static int divide(int a, int b) { int s = 0; for (int i = 1; i < 30; ++i) s += a / (b * i) + a % i; return s; }
int main(void) {
  long sum = 0;
  for (int i = 0; i < 4000; ++i) if (i % 5 != 0) sum += divide(i % 7, i % 5);
  volatile int none = 0;
  const int zero = none;
  for (int i = 0; i < 4000; ++i) if (zero != 0) sum += divide(7, zero);
  printf("%ld\n", sum);
  return 0;
}
