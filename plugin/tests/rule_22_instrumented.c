// Rule 22: off where calls are counted by a tool.
// FLAGS: -O2 -finstrument-functions
// REMARK: tree: not memoized
// NO-REMARK: tree: memoized
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
