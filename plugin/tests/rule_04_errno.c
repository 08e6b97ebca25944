// Rule 4: a result of the C library that may come with errno is not stored: it sets errno each time.
// FLAGS: -O2 -fmath-errno
// REMARK: root: memoized, where it stays pure
// IR: larder_reuse_taint
// RUN
#include <errno.h>
#include <math.h>
#include <stdio.h>
double root(double x, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += pow(x, 1.0 / (i + 2)) + log(x + i);
  return sum;
}
int main(void) {
  int failures = 0;
  double sum = 0;
  for (int i = 0; i < 5000; ++i) {
    errno = 0;
    const double r = root(i % 3 - 1, 3);
    failures += errno != 0;
    if (r == r) sum += r;
  }
  printf("%d %.17g\n", failures, sum);
  return 0;
}
