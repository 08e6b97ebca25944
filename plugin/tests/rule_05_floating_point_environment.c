// Rule 5: results that depend on the rounding mode are not stored.
// FLAGS: -O2 -ffp-model=strict
// REMARK: scaled: not memoized
double scaled(double x, int n) { return n < 2 ? x : scaled(x * 1.1, n - 1) + scaled(x * 0.7, n - 2); }
