// Rule 13, in a shared library whose functions may be replaced.
// FLAGS: -O2 -fPIC -fsemantic-interposition
// REMARK: replaced: not memoized: it may be replaced at link time
int replaced(int n) { return n < 2 ? n : replaced(n - 1) + replaced(n - 2); }
