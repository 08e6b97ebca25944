// Rule 8: behind a pointer of known extent the bytes are the key; of unknown extent, or written through, it stays.
// REMARK: by_reference(Point const&, int): memoized
// REMARK: unknown_extent(int const*, int): not memoized: it is not known how much it reads behind a pointer
// REMARK: beyond(Point const&, int): not memoized: it is not known how much it reads behind a pointer
// REMARK: writes_through(Point&, int): not memoized: it may write behind a pointer
// REMARK: gives_address(int): not memoized: it returns an address
// REMARK: by_value(Big): memoized
// RUN
extern "C" int printf(const char*, ...);
struct Point { double x; int y, z; };
struct Big { long a, b, c; int n; };
__attribute__((noinline)) double by_reference(const Point& p, int n) {
  double sum = 0;
  for (int i = 1; i < 40; ++i) sum += p.x / (i + n) + p.y % (i + 1) + p.z / i;
  return sum;
}
int unknown_extent(const int* p, int n) { int s = 0; for (int i = 1; i < n; ++i) s += p[i] / i; return s; }
int beyond(const Point& p, int n) { int s = 0; for (int i = 1; i < n; ++i) s += (&p)[1].y / i; return s; }
int writes_through(Point& p, int n) { int s = 0; for (int i = 1; i < n; ++i) s += n / i; p.y = s; return s; }
int numbers[4];
int* gives_address(int n) { int s = 0; for (int i = 1; i < n; ++i) s += n / i; return numbers + (s & 3); }
__attribute__((noinline)) long by_value(Big b) { long s = 0; for (int i = 1; i < 30; ++i) s += b.a / i + b.b % i + b.c * b.n; return s; }
int main() {
  double sum = 0;
  long other = 0;
  Point p{0, 0, 0};
  Big b{1, 2, 3, 4};
  for (int i = 0; i < 4000; ++i) {
    p.x = i % 3; p.y = i % 2; p.z = i % 5;
    b.b = i % 7; b.n = i % 2;
    sum += by_reference(p, i % 4);
    other += by_value(b);
  }
  printf("%.17g %ld\n", sum, other);
}
