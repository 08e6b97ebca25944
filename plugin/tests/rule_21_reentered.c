// Rule 21: neither does a function need more stack that comes back to itself by way of what is not known here.
// REMARK: walk: memoized, where it stays pure
// IR: larder.guard
// RUN
int printf(const char*, ...);
__attribute__((noinline)) static long other(long n, long k);
long (*volatile next)(long, long) = other;
__attribute__((noinline, annotate("reuse"))) long walk(long n, long k) {
  if (n > 0) return next(n - 1, k) + 1;
  unsigned long s = k;
  for (int i = 1; i < 100; ++i) s = s * 31 + k / i;
  return s;
}
static long other(long n, long k) { return walk(n, k) * 3 + n; }
int main(void) {
  long s = 0;
  for (int i = 0; i < 2000; ++i) s += walk(i % 3, i % 5);
  printf("%ld\n", s + walk(150000, 3) + walk(150000, 4));
  return 0;
}
