// Rule 26: clocks, random numbers and the like.
// REMARK: with_clock: not memoized
// REMARK: with_cycles: not memoized
// REMARK: with_random: not memoized
long time(long*);
int rand(void);
long with_clock(int n) { return n < 2 ? time(0) : with_clock(n - 1) + with_clock(n - 2); }
long with_cycles(int n) { return n < 2 ? (long)__builtin_readcyclecounter() : with_cycles(n - 1) + with_cycles(n - 2); }
long with_random(int n) { return n < 2 ? rand() : with_random(n - 1) + with_random(n - 2); }
