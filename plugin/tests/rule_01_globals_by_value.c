// Rule 1: a global variable that is passed by value is read by the call, for the callee sees a copy of its own.
// OPTIONS: all=on
// REMARK: whole: not memoized: passes a global variable on
// REMARK: element: not memoized: passes a global variable on
// REMARK: through_a_pointer: not memoized: passes a global variable on
// REMARK: sum: memoized
// RUN
int printf(const char*, ...);
struct big { long numbers[6]; };
struct big pair = {{1, 2, 3, 4, 5, 6}}, table[3];
__attribute__((noinline)) long sum(struct big b, int n) {
  unsigned long s = n;
  for (int i = 0; i < 200; ++i) s = s * 31 + b.numbers[i % 6] / (i + 1);
  return s;
}
__attribute__((noinline)) static long behind(const struct big* b, int n) { return sum(*b, n) + 1; }
__attribute__((noinline)) long whole(int n) { return sum(pair, n) + sum(pair, n + 1); }
__attribute__((noinline)) long element(int n) { return sum(table[n % 3], n) * 3; }
__attribute__((noinline)) long through_a_pointer(int n) { return behind(&pair, n) * 5; }
__attribute__((noinline)) long own(int n) { struct big b = {{n, n + 1, 2, 3, 4, n * 5}}; return sum(b, n) + sum(b, 7); }
int main(void) {
  unsigned long s = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 2000; ++i) s = s * 7 + whole(i % 4) + element(i % 5) + through_a_pointer(i % 3) + own(i % 6);
    pair.numbers[round % 6] += round;
    table[round % 3].numbers[1] += round;
    printf("%lu\n", s);
  }
  return 0;
}
