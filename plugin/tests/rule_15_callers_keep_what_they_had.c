// Rule 15: until the end it is pure: equal calls become one, and a loop calls once.
// REMARK: tree: memoized
// IR: define.*@twice[^{]*\{\n[^}]*call[^}]*@tree[^}]*shl
// NO-IR: define.*@twice[^{]*\{\n[^}]*@tree\([^}]*@tree\(
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
int twice(int n) { return tree(n) + tree(n); }
