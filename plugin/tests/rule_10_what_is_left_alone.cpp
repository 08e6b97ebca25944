// Rule 10: functions whose frames or calls are special.
// REMARK: variadic(int, ...): not memoized: it takes any number of arguments
// REMARK: unoptimised(int): not memoized: it has the attribute optnone
// REMARK: twice(int): not memoized
// REMARK: catches(int): not memoized: it catches exceptions
// REMARK: promises(long, long): not memoized: it promises a tail call
// REMARK: labels(int): not memoized: takes the addresses of its labels
// REMARK: calls_labels(int): not memoized
extern "C" int _setjmp(void*) __attribute__((returns_twice));
__attribute__((noinline)) static int may_throw(int n) { if (n > 1000) throw n; return n * 3; }
char buffer[400];
int variadic(int n, ...) { return n < 2 ? n : variadic(n - 1) + variadic(n - 2); }
__attribute__((optnone, noinline)) int unoptimised(int n) { return n < 2 ? n : unoptimised(n - 1) + unoptimised(n - 2); }
int twice(int n) { if (_setjmp(buffer)) return 0; return n < 2 ? n : twice(n - 1) + twice(n - 2); }
int catches(int n) { try { if (n < 2) return may_throw(n); } catch (...) { return 1; } return catches(n - 1) + catches(n - 2); }
long promises(long n, long sum) { if (n == 0) return sum; __attribute__((musttail)) return promises(n - 1, sum + n % 7); }
int labels(int n) {
  static const void* const to[] = {&&more, &&less};
  int sum = n, i = 0;
next:
  if (i++ > n + 20) return sum;
  goto *to[(sum ^ i) & 1];
more: sum = sum * 31 + i; goto next;
less: sum -= i * n; goto next;
}
int calls_labels(int n) { return n < 2 ? labels(n) : calls_labels(n - 1) + calls_labels(n - 2); }
