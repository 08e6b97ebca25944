// A declaration that only promises to be pure is believed when that is asked for.
// OPTIONS: trust=on
// REMARK: tree: memoized
__attribute__((const)) int promised(int);
int tree(int n) { return n < 2 ? promised(n) : tree(n - 1) + tree(n - 2); }
