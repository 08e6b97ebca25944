// Rule 7: bits that are not defined become something definite before they are compared or stored.
// REMARK: padded: memoized
// IR: freeze i64
// RUN
#include <stdio.h>
struct Pair { char tag; int n; };
int padded(struct Pair p) {
  struct Pair a = {p.tag, p.n - 1}, b = {p.tag, p.n - 2};
  return p.n < 2 ? p.tag : padded(a) + padded(b);
}
int main(void) {
  struct Pair p = {3, 27};
  for (int i = 0; i < 6; ++i) printf("%d\n", padded(p) + i);
  return 0;
}
