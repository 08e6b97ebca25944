// A program that records goes on where its profile has been written: in what runs last, and in other threads.
// OPTIONS: record=on
// REMARK: slow: memoized
// REMARK: ways: memoized
// RUN
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) long slow(int n) { unsigned long s = n; for (int i = 1; i < 300; ++i) s = s * 31 + n / i; return s & 1023; }
long ways(int a, int b) { return a == 0 || b == 0 ? 1 : ways(a - 1, b) + ways(a, b - 1); }
static long work(void) { long s = 0; for (int i = 0; i < 1000; ++i) s += slow(i % 7) + ways(6, i % 6); return s; }
__attribute__((constructor(101))) static void early(void) { setenv("LARDER_REUSE_PROFILE", "/dev/null", 1); printf("%ld\n", work()); }
__attribute__((destructor(101))) static void late(void) { printf("%ld\n", work()); }
static _Atomic int begun;
static void* for_ever(void* of) { for (long s = 0;; s += work()) begun = 1 + (s == 77); return of; }
int main(void) {
  pthread_t thread;
  for (int i = 0; i < 2; ++i) pthread_create(&thread, 0, for_ever, 0);
  while (!begun) continue;
  printf("%ld\n", work());
  return 0;
}
