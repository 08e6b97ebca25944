// Rule 12: a function need not be known to return.
// REMARK: collatz: memoized
// RUN
#include <stdio.h>
int collatz(unsigned long n) { return n == 1 ? 0 : 1 + collatz(n % 2 ? 3 * n + 1 : n / 2); }
int main(void) {
  long sum = 0;
  for (unsigned long n = 1; n < 3000; ++n) sum += collatz(n);
  printf("%ld\n", sum);
  return 0;
}
