// Rule 23: what was processed says so, so that a second run leaves it alone.
// REMARK: tree: memoized
// IR: !"larder-reuse", i32 1
// IR: larder-reuse-done
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
