// Rule 2: whatever others could see.
// REMARK: writes: not memoized: writes memory that is not its own
// REMARK: prints: not memoized: printf: calls a function whose body is not known
// REMARK: assembly: not memoized: contains assembly
// REMARK: reads_volatile: not memoized: reads a volatile object
// REMARK: writes_volatile: not memoized: writes a volatile object
// REMARK: reads_atomic: not memoized: reads an atomic object
// REMARK: writes_atomic: not memoized: writes an atomic object
// REMARK: changes_atomic: not memoized: does something that others may see
// REMARK: fence: not memoized
// REMARK: through_pointer: not memoized: calls through a pointer
// REMARK: unknown_target: not memoized
int printf(const char*, ...);
int sink;
int writes(int n) { sink = n; return n < 2 ? n : writes(n - 1) + writes(n - 2); }
int prints(int n) { printf("%d", n); return n < 2 ? n : prints(n - 1) + prints(n - 2); }
int assembly(int n) { int r; __asm__("mov %1, %0" : "=r"(r) : "r"(n)); return n < 2 ? r : assembly(n - 1) + assembly(n - 2); }
int reads_volatile(int n) { int v = *(volatile int*)&sink; return n < 2 ? v : reads_volatile(n - 1) + reads_volatile(n - 2); }
int writes_volatile(int n) { *(volatile int*)&sink = n; return n < 2 ? n : writes_volatile(n - 1) + writes_volatile(n - 2); }
int reads_atomic(int n) { int v = __atomic_load_n(&sink, 5); return n < 2 ? v : reads_atomic(n - 1) + reads_atomic(n - 2); }
int writes_atomic(int n) { __atomic_store_n(&sink, n, 5); return n < 2 ? n : writes_atomic(n - 1) + writes_atomic(n - 2); }
int changes_atomic(int n) { __atomic_add_fetch(&sink, 1, 5); return n < 2 ? n : changes_atomic(n - 1) + changes_atomic(n - 2); }
int fence(int n) { __atomic_thread_fence(5); return n < 2 ? n : fence(n - 1) + fence(n - 2); }
int one(int), two(int);
static int (*const pointers[2])(int) = {one, two};
int through_pointer(int n) { return n < 2 ? pointers[n & 1](n) : through_pointer(n - 1) + through_pointer(n - 2); }
int unknown_target(int n) { int elsewhere(int); return n < 2 ? elsewhere(n) : unknown_target(n - 1) + unknown_target(n - 2); }
