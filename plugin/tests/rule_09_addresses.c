// Rule 9: what an address is as a number differs from call to call.
// REMARK: number_of: not memoized: uses an address as a number
// REMARK: order_of: not memoized
// REMARK: local_order: not memoized: compares addresses
// REMARK: distance: memoized
// REMARK: alignment: not memoized: uses a
long number_of(int n) { int local[4] = {n}; return n < 2 ? (long)local : number_of(n - 1) + number_of(n - 2); }
int take(const int* a, const int* b);
int order_of(const int* a, const int* b, int n) { return n < 2 ? a < b : order_of(a, b, n - 1) + order_of(b, a, n - 2); }
int local_order(int n) { int a[2] = {n}, b[2] = {n + 1}; int r = a < b ? 1 : 2; return n < 2 ? r + a[n & 1] + b[n & 1] : local_order(n - 1) + local_order(n - 2); }
static const int table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
long distance(int n) {
  const int* p = table;
  while (p != table + 8 && *p % (n % 9 + 1) != 0) ++p;
  return n < 2 ? p - table : distance(n - 1) + distance(n - 2);
}
long alignment(int n) {
  char local[256];
  for (int i = 0; i < 256; ++i) local[i] = (char)(n + i);
  const char* p = __builtin_align_up(local + 1, 64);
  return n < 2 ? p - local + local[n & 7] : alignment(n - 1) + alignment(n - 2);
}
