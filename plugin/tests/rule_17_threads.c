// Rules 17 and 20: each thread has its table, and threads that end leave nothing wrong behind.
// REMARK: ways: memoized
// IR: @larder_reuse_place.* = internal .*thread_local
// RUN
#include <pthread.h>
#include <stdio.h>
long ways(int a, int b) { return a == 0 || b == 0 ? 1 : ways(a - 1, b) + ways(a, b - 1); }
void* work(void* of) { long s = 0; for (int i = 0; i < 300; ++i) s += ways(6 + i % 3, 7); *(long*)of = s; return 0; }
int main(void) {
  pthread_t threads[64];
  long results[64], sum = 0;
  for (int t = 0; t < 64; ++t) pthread_create(&threads[t], 0, work, &results[t]);
  for (int t = 0; t < 64; ++t) pthread_join(threads[t], 0), sum += results[t];
  printf("%ld\n", sum);
  return 0;
}
