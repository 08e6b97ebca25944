#!/bin/sh
# `larder cc`, the profile and `larder reuse-report`, end to end. Usage: cc_test.sh LARDER CLANG   (77: no such clang)
set -eu
larder=$1
clang=$2
if [ "$clang" = missing ]; then
  echo "SKIP: $3 or its clang is not installed"
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
fail() {
  echo "$*" >&2
  exit 1
}

cat >ways.c <<'END'
#include <stdio.h>
long ways(int a, int b) { return a == 0 || b == 0 ? 1 : ways(a - 1, b) + ways(a, b - 1); }
static long never_twice(int n) { long s = 0; for (int i = 1; i < 40; ++i) s += n / i % 7; return s; }
int main(void) {
  long s = 0;
  for (int i = 0; i < 200; ++i) s += ways(8, i % 9) + never_twice(i);
  printf("%ld\n", s);
  return s == 0;
}
END
"$clang" -O2 ways.c -o plain
"$larder" cc "$clang" -O2 -Rpass=larder-reuse ways.c -o with 2>remarks
grep -q 'ways: memoized' remarks || fail "no remark: $(cat remarks)"
[ "$(./plain)" = "$(./with)" ] || fail "another output with tables"
nm with | grep -q larder_reuse_slow || fail "no library linked"

# Compiled and linked in two steps.
"$larder" cc "$clang" -O2 -c ways.c -o ways.o
"$larder" cc "$clang" ways.o -o two_steps
[ "$(./plain)" = "$(./two_steps)" ] || fail "another output in two steps"

# The compiler's exit code and messages pass through.
echo 'int broken' >broken.c
if "$larder" cc "$clang" -c broken.c 2>messages; then fail "broken code compiled"; fi
grep -q 'broken.c:1' messages || fail "the compiler's message is gone"

# Where it must not be.
"$larder" cc "$clang" -O2 -fprofile-generate -Rpass=larder-reuse -c ways.c 2>remarks
! grep -q memoized remarks || fail "memoized while a profile is recorded"
"$larder" cc "$clang" -O1 -fsanitize=address -Rpass=larder-reuse -c ways.c 2>remarks
! grep -q memoized remarks || fail "memoized under a sanitizer"
"$larder" cc --with-sanitizers "$clang" -O1 -fsanitize=address -Rpass=larder-reuse -c ways.c 2>remarks
grep -q 'ways: memoized' remarks || fail "not memoized under a sanitizer although asked for"

# Other compilers are refused, with what to do.
printf '#!/bin/sh\necho "somecc 1.0"\n' >somecc
chmod +x somecc
code=0
"$larder" cc ./somecc -c ways.c 2>messages || code=$?
[ "$code" = 2 ] || fail "another compiler: exit $code"
grep -q 'is not clang' messages || fail "another compiler: $(cat messages)"
printf '#!/bin/sh\necho "clang version 7.0.1"\n' >somecc
code=0
"$larder" cc ./somecc -c ways.c 2>messages || code=$?
[ "$code" = 2 ] || fail "clang 7: exit $code"
grep -q 'no plugin for clang 7; it has those for clang' messages || fail "clang 7: $(cat messages)"

# Lists and strategies reach the plugin.
echo ways >deny
"$larder" cc --deny deny "$clang" -O2 -Rpass-missed=larder-reuse -c ways.c 2>remarks
grep -q 'ways: not memoized: a list denies it' remarks || fail "the list did not arrive"
echo 'not a name' >deny
if "$larder" cc --deny deny "$clang" -O2 -c ways.c 2>messages; then fail "a broken list was taken"; fi
grep -q "$scratch/deny:1" messages || fail "a broken list: $(cat messages)"

# A profile is recorded, printed and used.
"$larder" cc --profile-reuse "$clang" -O2 ways.c -o recording
[ "$(./plain)" = "$(./recording)" ] || fail "another output while recording"
"$larder" reuse-report >report
grep -q 'ways' report || fail "no report: $(cat report)"
[ "$(sed -n 2p report | awk '{print $NF}')" = ways ] || fail "ways does not come first: $(cat report)"
"$larder" reuse-report --json | grep -q '"name":"never_twice"' || fail "no JSON"
"$larder" cc --reuse-profile larder-reuse.profile "$clang" -O2 -Rpass=larder-reuse ways.c -o chosen 2>remarks
grep -q 'ways: memoized' remarks || fail "not memoized with a profile"
[ "$(./plain)" = "$(./chosen)" ] || fail "another output with a profile"
echo damaged >>larder-reuse.profile
if "$larder" reuse-report 2>messages; then fail "a damaged profile was printed"; fi
line=$(wc -l <larder-reuse.profile)
grep -q "larder-reuse.profile:$line " messages || fail "a damaged profile: $(cat messages)"
if "$larder" cc --reuse-profile larder-reuse.profile "$clang" -O2 -c ways.c 2>messages; then fail "a damaged profile was used"; fi
grep -q "larder-reuse.profile:$line:" messages || fail "a damaged profile to the compiler: $(cat messages)"

# With link-time optimisation, and as a shared library that comes and goes in a thread's life.
for lto in -flto=thin -flto; do
  if "$clang" -O2 $lto -fuse-ld=lld ways.c -o lto_plain 2>/dev/null; then
    "$larder" cc "$clang" -O2 $lto -fuse-ld=lld ways.c -o lto
    [ "$(./plain)" = "$(./lto)" ] || fail "another output with $lto"
  fi
done
cat >main.c <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void* once(void* of) {
  for (int i = 0; i < 3; ++i) {
    void* library = dlopen("./libways.so", RTLD_NOW);
    if (!library) { puts(dlerror()); return 0; }
    long (*ways)(int, int) = (long (*)(int, int))dlsym(library, "ways");
    for (int k = 0; k < 300; ++k) if (ways(8, 8) != 12870) return 0;
    dlclose(library);
  }
  *(int*)of = 1;
  return 0;
}
int main(void) {
  pthread_t threads[3];
  int good[3] = {0, 0, 0};
  for (int t = 0; t < 3; ++t) { pthread_create(&threads[t], 0, once, &good[t]); pthread_join(threads[t], 0); }
  puts(good[0] && good[1] && good[2] ? "good" : "bad");
  return 0;
}
END
sed '/never_twice/d;/^int main/,$d' ways.c >library.c
"$larder" cc "$clang" -O2 -fPIC -shared library.c -o libways.so
"$clang" -O1 main.c -o main -lpthread -ldl
[ "$(./main)" = good ] || fail "a library that comes and goes: $(./main)"
