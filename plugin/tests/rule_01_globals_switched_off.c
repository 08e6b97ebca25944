// Rule 1, in the mode that redraws the seed's Figure 1.
// OPTIONS: globals=off
// REMARK: with_global: not memoized: factor: reads a global variable
int factor = 3;
int with_global(int n) { return n < 2 ? factor : with_global(n - 1) * factor + with_global(n - 2); }
