// Rule 11: a call that threw has stored nothing; the next one with the same arguments throws again.
// REMARK: root(int): memoized
// RUN
#include <cstdio>
__attribute__((noinline)) static int root(int n) {
  if (n % 7 == 0) throw n;
  int sum = 0;
  for (int i = 1; i < 200; ++i) sum += n / i % 5;
  return sum;
}
int main() {
  long sum = 0;
  int caught = 0;
  for (int i = 0; i < 5000; ++i) {
    try {
      sum += root(i % 20);
    } catch (int) {
      ++caught;
    }
  }
  std::printf("%ld %d\n", sum, caught);
}
