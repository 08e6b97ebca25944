// Rule 6: keys are compared by their bits: 0.0 and -0.0 differ, a NaN is found again.
// OPTIONS: all=on
// REMARK: sign: memoized
// NO-IR: fcmp oeq double %x
// RUN
#include <math.h>
#include <stdio.h>
__attribute__((noinline)) int sign(double x, float y) { int s = 0; for (int i = 0; i < 30; ++i) s += signbit(x) ? 2 + i : 1; return s + (signbit(y) ? 100 : 0); }
int main(void) {
  long sum = 0;
  const double xs[] = {0.0, -0.0, NAN, -NAN, 1, -1};
  for (int i = 0; i < 60000; ++i) sum = sum * 3 + sign(xs[i % 6], (float)xs[i / 6 % 6]);
  printf("%ld\n", sum);
  return 0;
}
