// Rule 24: a build with -g is the same program, and what was put in front of a function has its line.
// FLAGS: -O2 -g
// REMARK: tree: memoized
// IR: larder\.probe:[^\n]*\n\s+%\d+ = load i64, [^\n]*!dbg
// RUN
#include <stdio.h>
long tree(int n) { long twice = n * 2; return n < 2 ? twice : tree(n - 1) + tree(n - 2); }
long outer(long n) { return n == 0 ? 1 : n * outer(n - 1) % 1000003; }
int main(void) {
  long sum = 0;
  for (int i = 0; i < 500; ++i) sum += outer(i);
  printf("%ld %ld\n", tree(30), sum);
  return 0;
}
