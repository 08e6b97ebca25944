// Rule 14: a function with a table and those who call it are no longer called pure.
// REMARK: tree: memoized
// NO-IR: memory\(none\)
// NO-IR: readnone
// IR: load volatile i64
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
int calls(int n) { return tree(n) * 2; }
