#!/bin/sh
# shellcheck disable=SC2015 # what fails here ends the test, whichever part of a line it is
# `larder cc`, the profile and `larder reuse-report`, end to end. Usage: cc_test.sh LARDER CLANG   (77: no such clang)
blank="with a blank "
# shellcheck source=plugin/tests/prologue.sh
. "$(dirname "$0")/prologue.sh"
larder=$subject

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
grep -q 'use clang 14, 16 or 19' messages || fail "clang 7: $(cat messages)"

# Lists and strategies reach the plugin.
echo ways >deny
"$larder" cc --deny deny "$clang" -O2 -Rpass-missed=larder-reuse -c ways.c 2>remarks
grep -q 'ways: not memoized: a list denies it' remarks || fail "the list did not arrive"
echo 'not a name' >deny
if "$larder" cc --deny deny "$clang" -O2 -c ways.c 2>messages; then fail "a broken list was taken"; fi
[ "$(grep -c "$scratch/deny:1" messages)" = 1 ] || fail "a broken list: $(cat messages)"

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

# A profile gives two functions two strategies: the quick table to the cheap one, one that loses nothing to the
# one that works long; and none to what never repeats itself.
cat >two.c <<'END'
#include <stdio.h>
static __attribute__((noinline)) long cheap(int n) { long s = n; for (int i = 1; i < 30; ++i) s = s * 31 + n / i; return s; }
static __attribute__((noinline)) long dear(int n) { unsigned long s = n; for (int i = 1; i < 40000; ++i) s = s * 31 + s / i; return s & 1023; }
static __attribute__((noinline)) long never(int n) { long s = n; for (int i = 1; i < 30; ++i) s = s * 37 + n / i; return s; }
int main(void) {
  unsigned long s = 0;
  for (int i = 0; i < 200000; ++i) s = s * 7 + cheap(i % 500) + never(i);
  for (int i = 0; i < 2000; ++i) s = s * 7 + dear(i % 100);
  printf("%lu\n", s);
  return 0;
}
END
"$clang" -O2 two.c -o two_plain
"$larder" cc --profile-reuse "$clang" -O2 two.c -o two_recording
LARDER_REUSE_PROFILE=two.profile ./two_recording >two.out
[ "$(./two_plain)" = "$(cat two.out)" ] || fail "another output while recording two"
"$larder" cc --reuse-profile two.profile "$clang" -O2 -Rpass-analysis=larder-reuse -Rpass-missed=larder-reuse two.c -o two_chosen 2>remarks
grep -q 'cheap: the profile chooses adaptive' remarks || fail "cheap: $(cat remarks two.profile)"
grep -q 'dear: the profile chooses lru_hash' remarks || fail "dear: $(cat remarks two.profile)"
grep -q 'never: not memoized: the profile shows nothing to gain' remarks || fail "never: $(cat remarks two.profile)"
[ "$(./two_plain)" = "$(./two_chosen)" ] || fail "another output with strategies chosen"

# Odd command lines.
echo 'int nothing;' >nothing.h
echo '-O2 -c ways.c -o "by response.o"' >'a file'
"$larder" cc "$clang" '@a file' && [ -s 'by response.o' ] || fail "a response file"
"$larder" cc "$clang" -Werror -O2 'by response.o' -o by_response && [ "$(./by_response)" = "$(./plain)" ] || fail "its object"
"$larder" cc "$clang" -O2 -x c - -o by_input <ways.c && [ "$(./by_input)" = "$(./plain)" ] || fail "-x c -"
"$larder" cc "$clang" -O2 -v ways.c -o by_v 2>messages && [ "$(./by_v)" = "$(./plain)" ] || fail "-v: $(cat messages)"
"$larder" cc "$clang" -O2 -- ways.c && [ "$(./a.out)" = "$(./plain)" ] || fail "behind --"
"$larder" cc -- "$clang" -O2 ways.c && [ "$(./a.out)" = "$(./plain)" ] || fail "-- in front"
"$larder" cc "$clang" -Werror -E ways.c >preprocessed.i && "$larder" cc "$clang" -O2 preprocessed.i && [ "$(./a.out)" = "$(./plain)" ] || fail "-E"
"$larder" cc "$clang" -Werror -M nothing.h >messages && grep -q nothing.h messages || fail "-M"
"$larder" cc "$clang" -Werror -O2 -S ways.c -o ways.s && grep -q larder_reuse_slow ways.s || fail "-S"
"$larder" cc "$clang" -O2 -x assembler ways.s -o by_assembly && [ "$(./by_assembly)" = "$(./plain)" ] || fail "assembly"
"$larder" cc "$clang" -Werror -O2 -c ways.c -MMD -MF ways.d -o ways.o && grep -q ways.c ways.d || fail "-MMD"
"$larder" cc "$clang" -v 2>messages || fail "-v alone: $(cat messages)"
"$larder" cc "$clang" --version | grep -q 'clang version' || fail "--version"
"$larder" cc "$clang" -print-search-dirs >messages || fail "-print-search-dirs"
if "$larder" cc "$clang" 2>messages; then fail "no input was taken"; fi
grep -q 'no input files' messages || fail "no input: $(cat messages)"
if "$larder" cc "$clang" -O2 ways.c -o 2>messages; then fail "-o without a file was taken"; fi
grep -q 'argument to .-o. is missing' messages || fail "-o without a file: $(cat messages)"
if "$clang" -m32 -c -O2 ways.c -o plain32.o 2>messages; then
  "$larder" cc "$clang" -m32 -O2 -c ways.c -o with32.o && ! nm with32.o | grep -q larder_reuse || fail "-m32"
fi
"$larder" cc "$clang" -O2 -fPIE -pie ways.c -o by_pie && [ "$(./by_pie)" = "$(./plain)" ] || fail "-pie"
"$larder" cc "$clang" -O2 -static ways.c -o by_static && [ "$(./by_static)" = "$(./plain)" ] || fail "-static"
"$larder" cc "$clang" -g -O2 ways.c -o by_g && [ "$(./by_g)" = "$(./plain)" ] || fail "-g"
! "$larder" cc "$clang" --target=aarch64-linux-gnu -O2 -S -emit-llvm -ffreestanding -x c /dev/null -o other.ll || ! grep -q larder_reuse other.ll || fail "another machine"

# C++, by the driver of its name.
if command -v "${clang%/*}/clang++-${clang##*-}" >/dev/null; then
  cat >ways.cpp <<'END'
#include <cstdio>
#include <stdexcept>
template <typename T> T ways(T a, T b) { if (a < 0) throw std::runtime_error("negative"); return a == 0 || b == 0 ? 1 : ways(a - 1, b) + ways(a, b - 1); }
int main() { long s = 0; for (int i = 0; i < 200; ++i) s += ways<long>(8, i % 9); try { s += ways<long>(-1, 3); } catch (const std::exception& e) { std::printf("%s ", e.what()); } std::printf("%ld\n", s); }
END
  "${clang%/*}/clang++-${clang##*-}" -O2 ways.cpp -o plus_plain
  "$larder" cc "${clang%/*}/clang++-${clang##*-}" -O2 -Rpass=larder-reuse ways.cpp -o plus_with 2>remarks
  grep -q 'memoized' remarks || fail "C++: $(cat remarks)"
  [ "$(./plus_plain)" = "$(./plus_with)" ] || fail "C++: another output"
  # Objects of both languages in one program.
  sed 's/int main/int other/' ways.c >other.c
  "$larder" cc "$clang" -O2 -c other.c -o other.o
  "$larder" cc "${clang%/*}/clang++-${clang##*-}" -O2 ways.cpp other.o -o plus_both && [ "$(./plus_plain)" = "$(./plus_both)" ] || fail "C and C++"
fi

# Under sanitizers, asked for: the same output and no report.
for sanitizer in address thread undefined; do
  if "$clang" -O1 -g -fsanitize=$sanitizer ways.c -o sanitized_plain 2>/dev/null && ./sanitized_plain >messages 2>&1; then
    "$larder" cc --with-sanitizers "$clang" -O1 -g -fsanitize=$sanitizer ways.c -o sanitized
    [ "$(./sanitized 2>&1)" = "$(./plain)" ] || fail "-fsanitize=$sanitizer: $(./sanitized 2>&1)"
    "$larder" cc "$clang" -O1 -g -fsanitize=$sanitizer ways.c -o sanitized
    [ "$(./sanitized 2>&1)" = "$(./plain)" ] || fail "-fsanitize=$sanitizer, off: $(./sanitized 2>&1)"
  else
    echo "no -fsanitize=$sanitizer with this clang here"
  fi
done

# With link-time optimisation; also with the plugin loaded by the linker once more: each function is rewritten once.
plugin=$("$larder" cc "$clang" -### -c ways.c 2>&1 | tr ' ' '\n' | grep -A1 -- -fpass-plugin= | sed -n 's/^"*-fpass-plugin=//p' | tr -d '"')
for lto in -flto=thin -flto; do
  if "$clang" -O2 $lto -fuse-ld=lld-"${clang##*-}" ways.c -o lto_plain 2>/dev/null || "$clang" -O2 $lto -fuse-ld=lld ways.c -o lto_plain 2>/dev/null; then
    linker=lld
    ! command -v "ld.lld-${clang##*-}" >/dev/null || linker=lld-${clang##*-}
    "$larder" cc "$clang" -O2 $lto -fuse-ld="$linker" ways.c -o lto
    [ "$(./plain)" = "$(./lto)" ] || fail "another output with $lto"
    nm lto | grep -q larder_reuse_slow || fail "no table with $lto"
    if ! "$larder" cc "$clang" -O2 $lto -fuse-ld="$linker" -Wl,--load-pass-plugin="$plugin" ways.c -o lto_twice 2>messages; then
      grep -q 'unknown argument' messages || fail "$lto and the linker's plugin: $(cat messages)"
      echo "this lld loads no plugins"
      continue
    fi
    [ "$(./plain)" = "$(./lto_twice)" ] || fail "another output with $lto and the linker's plugin"
    [ "$(nm lto | grep -c larder_reuse_site)" = "$(nm lto_twice | grep -c larder_reuse_site)" ] || fail "rewritten twice with $lto"
  else
    echo "no $lto with this clang here: lld is missing"
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
static long pages(void) {
  long all = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (fscanf(file, "%ld", &all) != 1) all = 0;
  fclose(file);
  return all;
}
int main(void) {
  int is_good = 0;
  once(&is_good);
  const long before = pages();
  for (int i = 0; i < 20; ++i) once(&is_good);
  if (pages() > before + 64) { printf("%ld pages more\n", pages() - before); return 1; }
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
