// Rule 22: off where a sanitizer instruments.
// FLAGS: -O1 -fsanitize=address
// REMARK: tree: not memoized: a sanitizer instruments it
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
