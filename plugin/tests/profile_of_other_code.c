// A profile of other code is ignored, with a remark.
// OPTIONS: profile=$DIR/profile
// FILE profile: reuse1\ttree\t1\t2\t3\t4\t5\t6\t7\t8
// REMARK: tree: not memoized: the profile is of other code and was ignored
// REMARK: tree: memoized
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
