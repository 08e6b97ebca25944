// Purity by proof, not by name: a promise is not enough.
// REMARK: tree: not memoized: promised: calls a function of which only a promise is known
__attribute__((const)) int promised(int);
int tree(int n) { return n < 2 ? promised(n) : tree(n - 1) + tree(n - 2); }
