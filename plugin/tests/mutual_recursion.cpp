// Cycles of functions, inline functions and their helpers, results of two words.
// REMARK: even(int, long): memoized
// REMARK: odd(int, long): memoized
// REMARK: pairs(int): memoized
// RUN
extern "C" int printf(const char*, ...);
inline const long& least(const long& a, const long& b) { return b < a ? b : a; }
long odd(int n, long k);
long even(int n, long k) { return n <= 0 ? k : odd(n - 1, k) + odd(n - 2, k + 1) - least(n, k); }
long odd(int n, long k) { return n <= 0 ? 1 : even(n - 1, k) * 3 + even(n - 2, k); }
struct Two { long first; double second; };
Two pairs(int n) {
  if (n < 2) return {n, 0.5};
  const Two a = pairs(n - 1), b = pairs(n - 2);
  return {a.first + b.first, a.second * 0.75 + b.second};
}
int main() {
  for (int i = 0; i < 5; ++i) printf("%ld %ld %.17g\n", even(22 + i, i), pairs(20 + i).first, pairs(22).second);
}
