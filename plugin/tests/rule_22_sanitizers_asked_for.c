// Rule 22: on when it is asked for.
// FLAGS: -O1 -fsanitize=address
// OPTIONS: sanitizers=on
// REMARK: tree: memoized
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
