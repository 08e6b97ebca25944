// Rule 13: what the linker may replace is left alone; of an inline function this module memoizes a copy of its own.
// REMARK: weak_one(int): not memoized: it may be replaced at link time
// REMARK: calls_weak(int): not memoized
// REMARK: shared<int>(int)
// IR: define internal .*@_Z6sharedIiET_S0_\.larder\(
// RUN
extern "C" int printf(const char*, ...);
__attribute__((weak)) int weak_one(int n) { return n < 2 ? n : weak_one(n - 1) + weak_one(n - 2); }
int calls_weak(int n) { return n < 2 ? weak_one(n) : calls_weak(n - 1) + calls_weak(n - 2); }
template <typename T> T shared(T n) { return n < 2 ? n : shared(n - 1) + shared(n - 2); }
int (*volatile pointer)(int) = shared<int>;
int main() { printf("%d %d %d\n", shared(30), pointer(10), pointer == &shared<int>); }
