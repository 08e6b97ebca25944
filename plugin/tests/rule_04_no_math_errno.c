// Rule 4: without errno nothing needs to be noted.
// FLAGS: -O2 -fno-math-errno
// REMARK: root: memoized
// NO-REMARK: root: memoized, where
// NO-IR: larder_reuse_taint
double pow(double, double);
double log(double);
double root(double x, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += pow(x, 1.0 / (i + 2)) + log(x + i);
  return sum;
}
