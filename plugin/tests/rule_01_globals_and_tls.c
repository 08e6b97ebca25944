// Rule 1: what is read besides the arguments joins the key when it is one number, and is in the way otherwise.
// REMARK: with_global: memoized
// REMARK: with_array: not memoized: table: reads a global variable that is no single number
// REMARK: with_tls: not memoized
// REMARK: with_constant: memoized
// IR: @larder_reuse_site
// RUN
int printf(const char*, ...);
int factor = 3;
int table[4] = {1, 2, 3, 4};
_Thread_local int per_thread = 5;
static const int constants[4] = {9, 8, 7, 6};
int with_global(int n) { return n < 2 ? factor : with_global(n - 1) * factor + with_global(n - 2); }
int with_array(int n) { return n < 2 ? table[n & 3] : with_array(n - 1) + with_array(n - 2); }
int with_tls(int n) { return n < 2 ? per_thread : with_tls(n - 1) + with_tls(n - 2); }
int with_constant(int n) { return n < 2 ? constants[n & 3] : with_constant(n - 1) + with_constant(n - 2); }
int main(void) {
  for (int round = 0; round < 4; ++round) {
    for (factor = 1; factor < 5; ++factor) printf("%d ", with_global(24));
    table[round] = 40 + round;
    per_thread += round;
    printf("%d %d %d\n", with_array(20), with_tls(20), with_constant(20));
  }
  return 0;
}
