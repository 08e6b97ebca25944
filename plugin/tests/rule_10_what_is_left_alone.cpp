// Rule 10: functions whose frames or calls are special.
// REMARK: variadic(int, ...): not memoized: it takes any number of arguments
// REMARK: unoptimised(int): not memoized: it has the attribute optnone
// REMARK: twice(int): not memoized
// REMARK: catches(int): not memoized
extern "C" int _setjmp(void*) __attribute__((returns_twice));
void may_throw(int);
char buffer[400];
int variadic(int n, ...) { return n < 2 ? n : variadic(n - 1) + variadic(n - 2); }
__attribute__((optnone, noinline)) int unoptimised(int n) { return n < 2 ? n : unoptimised(n - 1) + unoptimised(n - 2); }
int twice(int n) { if (_setjmp(buffer)) return 0; return n < 2 ? n : twice(n - 1) + twice(n - 2); }
int catches(int n) { try { may_throw(n); } catch (...) { return 1; } return n < 2 ? n : catches(n - 1) + catches(n - 2); }
