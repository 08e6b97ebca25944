// Rule 16: a candidate is neither inlined nor turned into a loop before it is rewritten; what is too cheap is.
// REMARK: costly: memoized
// REMARK: cheap: not memoized: it is too cheap
// IR: define.*@user[^{]*\{\n[^}]*@costly
// NO-IR: define.*@user[^{]*\{\n[^}]*@cheap
// REMARK: inward: memoized
// IR: define.*@inward\.larder\.outer\(
static int costly(int a, int b) { int s = 0; for (int i = 1; i < b; ++i) s += a / i % 7; return s; }
static int cheap(int a, int b) { return a * b + 1; }
int user(int a, int b) { return costly(a, b) + cheap(a, b); }
// The optimiser would make a loop of it, whose levels no table could see.
long inward(long n, long sum) { return n == 0 ? sum : inward(n - 1, sum * 31 + n); }
