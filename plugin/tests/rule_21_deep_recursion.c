// Rule 21: a recursion that fits its stack without the plugin fits with it.
// REMARK: sum_to: memoized
// REMARK: depth: memoized
// IR: larder.guard
// RUN
#include <pthread.h>
#include <stdio.h>
long sum_to(long n) { return n == 0 ? 0 : n + sum_to(n - 1); }
long depth(long n) { return n < 2 ? n : (depth(n - 1) ^ (n % 20000 == 0 ? depth(n / 2) : n)) * 3; }
void* work(void* of) { *(long*)of = depth(6000) + sum_to(6000); return 0; }
int main(void) {
  long small = 0;
  for (int i = 0; i < 400; ++i) small += sum_to(i) + depth(i);
  printf("%ld %ld %ld\n", small, sum_to(3000000), depth(90000));
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 512 << 10);
  pthread_create(&thread, &attributes, work, &small);
  pthread_join(thread, 0);
  printf("%ld\n", small);
  return 0;
}
