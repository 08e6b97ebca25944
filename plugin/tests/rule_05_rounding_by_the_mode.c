// Rule 5: what rounds as the mode says is not stored, whoever sets the mode.
// OPTIONS: all=on
// REMARK: nearest: not memoized: depends on the floating-point environment
#include <math.h>
double nearest(double x) { double s = 0; for (int i = 1; i < 60; ++i) s += rint(x * i + 0.5); return s; }
