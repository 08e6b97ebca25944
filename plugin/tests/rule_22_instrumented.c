// Rule 22: off where calls are counted by a tool.
// FLAGS: -O2 -pg
// REMARK: tree: not memoized: its calls are counted by a tool
// NO-REMARK: tree: memoized
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
