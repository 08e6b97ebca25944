// A function that is nothing but its simplest cases is asked for: they are kept in a table all the same.
// FLAGS: -O1
// OPTIONS: all=on
// REMARK: steps: memoized
// RUN
int printf(const char*, ...);
__attribute__((noinline)) int steps(int n, int m) {
  if (n < 3) {
    if (m < n) return n + 1;
    if (m > 5) return m ^ n;
  }
  if (__builtin_expect(n == m, 0)) return m - 7;
  if (__builtin_expect(n == 9, 0)) return m + 3;
  return 0;
}
__attribute__((noinline)) int choice(int n, long m) {
  switch (n) {
    case 1: return m > 3 ? 8 : 1;
    case 100: return (int)m;
    case 10000: return (int)m + 3;
    default: return (int)m ^ 5;
  }
}
int main(void) {
  unsigned sum = 0;
  for (int i = 0; i < 3000; ++i) sum = sum * 7 + steps(i % 11, i % 7) + choice(i % 3 == 0 ? 100 : i % 5, i % 9);
  printf("%u\n", sum);
  return 0;
}
