// Rule 23: off in builds that record an execution profile.
// FLAGS: -O2 -fprofile-generate
// REMARK: tree: not memoized: the build records an execution profile
// NO-REMARK: tree: memoized
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
