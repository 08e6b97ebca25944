// Rules 3 and 11: a path that asserts, throws or reports does not keep the others from being memoized; it is
// executed each time and nothing is stored.
// FLAGS: -O2
// REMARK: checked(int): memoized
// REMARK: thrower(int): memoized
// REMARK: reporter(int): memoized, where it stays pure
// REMARK: caller(int): memoized, where it stays pure
// IR: larder_reuse_taint
// RUN
extern "C" int printf(const char*, ...);
extern "C" void abort();
static int reports = 0;
__attribute__((noinline, cold)) static void report(int n) { ++reports; printf("reported %d\n", n); }
int checked(int n) { if (n < 0) { printf("negative\n"); abort(); } return n < 2 ? n : checked(n - 1) + checked(n - 2); }
int thrower(int n) { if (n == -7) throw n; return n < 2 ? n : thrower(n - 1) + thrower(n - 2); }
int reporter(int n) { if (n % 19 == 0) report(n); return n < 2 ? n : reporter(n - 1) + reporter(n - 2); }
int caller(int n) { return n < 2 ? reporter(n + 18) : caller(n - 1) ^ caller(n - 2); }
int main() {
  printf("%d %d\n", checked(25), reporter(21));
  for (int i = 0; i < 3; ++i) {
    try { printf("%d\n", thrower(20)); printf("%d\n", thrower(-7)); } catch (int n) { printf("caught %d\n", n); }
  }
  for (int i = 0; i < 500; ++i) reporter(19);
  printf("%d %d\n", caller(9), reports);
}
