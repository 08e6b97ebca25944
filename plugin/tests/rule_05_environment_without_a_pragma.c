// Rule 5: where a source sets the rounding mode or asks for exceptions, what computes with floating point is left
// alone, although the source does not say so by a pragma. Integers are not concerned.
// OPTIONS: all=on
// REMARK: third: not memoized: computes with floating point in a source that uses the floating-point environment
// REMARK: nearest: not memoized
// REMARK: whole: memoized
// RUN
#include <fenv.h>
#include <math.h>
#include <stdio.h>
__attribute__((noinline)) double third(double x) { double s = x; for (int i = 1; i < 60; ++i) s += x / (i * 3); return s; }
__attribute__((noinline)) double nearest(double x) { double s = 0; for (int i = 1; i < 60; ++i) s += rint(x * i + 0.5); return s; }
__attribute__((noinline)) long whole(int n) { unsigned long s = n; for (int i = 1; i < 60; ++i) s = s * 3 + n / i; return s; }
int main(void) {
  const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  for (int k = 0; k < 4000; ++k) {
    fesetround(modes[k / 500 % 4]);
    const double sum = third(k % 5) + nearest(k % 3);
    const long other = whole(k % 3);
    if (k % 499 == 0) printf("%.20g %ld\n", sum, other);
  }
  fesetround(FE_TONEAREST);
  int overflows = 0;
  for (int k = 0; k < 2000; ++k) {
    feclearexcept(FE_ALL_EXCEPT);
    volatile double huge = third(1e308 * (k % 3));
    overflows += fetestexcept(FE_OVERFLOW) != 0;
  }
  printf("%d\n", overflows);
  return 0;
}
