// Rule 16: a candidate is neither inlined nor turned into a loop before it is rewritten; what is too cheap is.
// REMARK: costly: memoized
// REMARK: cheap: not memoized: it is too cheap
// IR: define.*@user[^{]*\{\n[^}]*@costly
// NO-IR: define.*@user[^{]*\{\n[^}]*@cheap
static int costly(int a, int b) { int s = 0; for (int i = 1; i < b; ++i) s += a / i % 7; return s; }
static int cheap(int a, int b) { return a * b + 1; }
int user(int a, int b) { return costly(a, b) + cheap(a, b); }
