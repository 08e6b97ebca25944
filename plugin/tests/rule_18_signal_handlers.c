// Rules 18 and 19: the key is read again after the value; a handler may replace and grow in between.
// REMARK: ways: memoized
// IR: larder.found:[^}]*load volatile i64[^}]*load volatile i64
// RUN
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
long ways(int a, int b) { return a == 0 || b == 0 ? 1 : ways(a - 1, b) + ways(a, b - 1); }
volatile long interruptions, wrong;
void interrupt(int s) { (void)s; ++interruptions; wrong += ways(9, 8) != 24310; wrong += ways(12, (int)(interruptions % 9)) < 1; }
int main(void) {
  signal(SIGVTALRM, interrupt);
  struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_VIRTUAL, &often, 0);
  for (int i = 0; interruptions < 10; ++i) wrong += ways(10 + i % 4, 9) < 92378;
  setitimer(ITIMER_VIRTUAL, &never, 0);
  printf("%ld\n", wrong);
  return 0;
}
