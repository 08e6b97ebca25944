#!/bin/bash
# `larder build` restores what compilers made: back and forth between versions, in a second checkout, and never when
# anything that decided it is another; all without tracing. Usage: restore_test.sh LARDER
# shellcheck disable=SC2317,SC2015,SC2016 # functions are called by name; what fails either way fails; ninja expands
set -u
larder=$(realpath "$1")
top=$(mktemp -d)
trap 'chmod -R u+w "$top"; rm -rf "$top"' EXIT
export HOME=$top XDG_RUNTIME_DIR=$top/run LARDER_DIR=$top/store
unset MAKEFLAGS NINJA_STATUS LARDER_DISABLE LARDER_MODE CPATH
command -v cc >/dev/null || { echo "FAIL: no C compiler called cc" >&2; exit 1; }

scenario=none
fail() {
  echo "FAIL: $scenario: $*" >&2
  [ ! -e out ] || cat out >&2
  exit 1
}
# A project of two sources and a header.
project() {
  mkdir -p "$1/.git" "$1/inc" "$1/more" && cd "$1" || exit 2
  cat >build.ninja <<'END'
flags =
rule cc
  command = cc $flags -Iinc -Imore -MD -MF $out.d -o $out -c $in
  depfile = $out.d
  deps = gcc
  description = CC $out
build a.o: cc a.c
build b.o: cc b.c
END
  printf '#include "h.h"\nint a(void) { return H; }\n' >a.c
  echo 'int b(void) { return 2; }' >b.c
  echo '#define H 1' >more/h.h
}
begin() {
  scenario=$1
  rm -rf "$LARDER_DIR" "$top/one" "$top/two"
  project "$top/one"
}
flags() { sed -i "s|^flags =.*|flags = $*|" build.ninja; }
forget() { rm -rf ./*.o ./*.o.d .larder; }
# expect RAN RESTORED WORDS...: how many commands ran, and how many steps were restored.
expect() {
  local ran=$1 restored=$2 code=0 did_restore did
  shift 2
  "$larder" build --no-trace "$@" >out 2>&1 || code=$?
  [ "$code" -eq 0 ] || fail "exit $code"
  did_restore=$(grep -c '^\[.*(restored)$' out)
  did=$(($(grep -c '^\[' out) - did_restore))
  [ "$did $did_restore" = "$ran $restored" ] || fail "ran $did and restored $did_restore, not $ran and $restored"
}

begin "back and forth"
expect 2 0
cp a.o a1.o
echo '#define H 7' >more/h.h
expect 1 0
cp a.o a7.o
cmp -s a1.o a7.o && fail "the header made no difference"
echo '#define H 1' >more/h.h
expect 0 1
cmp a.o a1.o || fail "a.o is not that of the first version"
echo '#define H 7' >more/h.h
expect 0 1
cmp a.o a7.o || fail "a.o is not that of the second version"
expect 0 0
grep -q 'no work to do' out || fail "restored steps are not done"
forget
expect 0 2
expect 0 0

begin "off"
expect 2 0
forget
expect 2 0 --no-restore
forget
LARDER_DISABLE=1 expect 2 0
forget
LARDER_PERSISTENT=off expect 2 0
forget
rm -rf "$LARDER_DIR"
expect 2 0 --no-restore
[ ! -e "$LARDER_DIR" ] || fail "something was kept"

begin "69, 83: a second checkout gets what does not hold its root"
expect 2 0
project "$top/two"
expect 0 2
cmp a.o ../one/a.o || fail "other bytes"
expect 0 0

begin "69: and not what holds it"
flags -g
expect 2 0
project "$top/two"
flags -g
expect 2 0 -d explain
grep -q 'a.o is not restored: it was made below another root, and a.o holds the path of its root' out || fail "why"
grep -aq "$top/two" a.o || fail "a.o does not hold its own root"
forget
expect 0 2
cd "$top/one" || exit 2
forget
expect 0 2
grep -aq "$top/one" a.o || fail "a.o does not hold its own root"

begin "69: unless the compiler is told to leave the root out"
flags "-g -ffile-prefix-map=$top/one=. -gno-record-gcc-switches"
expect 2 0
project "$top/two"
flags "-g -ffile-prefix-map=$top/two=. -gno-record-gcc-switches"
expect 0 2
cmp a.o ../one/a.o || fail "other bytes"

begin "69: what can hide the root does not leave it"
flags -flto
expect 2 0
project "$top/two"
flags -flto
expect 2 0 -d explain
grep -q 'a.o is not restored: it was made below another root, and a.o is of a form' out || fail "why is not told"

# Checkouts whose paths are of unlike length; a.c is compiled by its absolute path.
beside() {
  project "$1"
  printf '%s\n' "$source" >a.cc
  printf 'rule cxx\n  command = g++ %s -MD -MF $out.d -o $out -c %s\n  depfile = $out.d\n  deps = gcc\nbuild x.o: cxx a.cc\n' \
    "$words" "$2" >>build.ninja
}
begin "69: nor does what could depend on its root without holding its path"
n=0
while IFS='|' read -r source words; do
  n=$((n + 1))
  begin "69: unseen: $source $words"
  words=${words//ROOT/$top/one}
  beside "$top/one" "$top/one/a.cc"
  expect 1 0 x.o
  words=${words//$top\/one/$top\/longer}
  rm -rf "$top/longer"
  beside "$top/longer" "$top/longer/a.cc"
  expect 1 0 -d explain x.o
  grep -q 'x.o is not restored: it was made below another root, and .* the root\|its root' out || fail "why"
  rm -rf .larder x.o
  expect 0 1 x.o
  rm -rf "$top/longer"
done <<'END'
extern const int n = sizeof(__FILE__);|
extern const int n = sizeof(__BASE_FILE__);|
extern const int n = __builtin_strlen(__builtin_FILE());|
const char *s(char *p) { return __builtin_strcpy(p, __FILE__); }|-O2
extern const int n = __builtin_strlen(HERE());|-DHERE=__builtin_FILE
extern const int n = sizeof(R);|-DR='"ROOT"'
extern const int n = sizeof(__FILE__);|-ffile-prefix-map=ROOT/inc=.
namespace { struct S { S(); }; } S s;|-frandom-seed=ROOT
END
[ "$n" -eq 8 ] || fail "$n were tried"
for source in $'extern const int n = sizeof(__FI\\\nLE__);' '#include <source_location>
extern const int n = __builtin_strlen(std::source_location::current().file_name());'; do
  begin "69: unseen: $source"
  words=-std=c++20
  beside "$top/one" "$top/one/a.cc"
  expect 1 0 x.o
  rm -rf "$top/longer"
  beside "$top/longer" "$top/longer/a.cc"
  expect 1 0 x.o
  rm -rf "$top/longer"
done

begin "69: and is where the path is relative, or left out"
source='extern const int n = sizeof(__FILE__);' words=
beside "$top/one" a.cc
expect 1 0 x.o
beside "$top/longer" a.cc
expect 0 1 x.o
rm -rf "$top/longer"
begin "69: and is where the path is left out"
words=-ffile-prefix-map=$top/one=.
beside "$top/one" "$top/one/a.cc"
expect 1 0 x.o
words=-ffile-prefix-map=$top/longer=.
beside "$top/longer" "$top/longer/a.cc"
expect 0 1 x.o
cp x.o restored.o
g++ -ffile-prefix-map="$top/longer=." -o x.o -c "$top/longer/a.cc"
cmp x.o restored.o || fail "other bytes"
rm -rf "$top/longer"

begin "--root names the root"
rm -rf .git
expect 2 0 --root .
mkdir sub && cp -r a.c b.c inc more build.ninja sub && cd sub || exit 2
expect 0 2 --root .
forget
expect 2 0 --root ..
"$larder" build --no-trace --root nowhere >out 2>&1 && fail "a root that is not there is taken"
grep -q 'root' out || fail "nothing is said"

begin "a header that hides another"
expect 2 0
forget
echo '#define H 9' >inc/h.h
expect 1 1
cc -Iinc -Imore -o check.o -c a.c && cmp check.o a.o || fail "a.o is of the hidden header"
rm inc/h.h
forget
expect 0 2
echo '#define H 5' >h.h
forget
expect 1 1
cc -Iinc -Imore -o check.o -c a.c && cmp check.o a.o || fail "a.o is of the hidden header"

begin "a header's precompiled form"
expect 2 0
forget
cc -DH=4 -Iinc -Imore -x c-header -o more/h.h.gch /dev/null || fail "gch"
expect 1 1
rm more/h.h.gch
forget
expect 0 2

begin "what looks for files that no depfile tells is not kept"
printf '#if __has_include("late.h")\nint b(void) { return 3; }\n#endif\n' >b.c
expect 2 0
forget
echo >late.h
expect 1 1 -d explain
grep -q 'b.o cannot be restored: b.c uses __has_include' out || fail "why is not told"

begin "60: a header that is gone or another"
expect 2 0
forget
rm more/h.h
"$larder" build --no-trace -k 0 >out 2>&1 && fail "a header is missing"
grep -q '^\[.*CC b.o (restored)' out || fail "b.o was not restored"
echo '#define H 3' >more/h.h
expect 1 0
forget
echo '#define H 1' >more/h.h
expect 0 2

begin "a depfile that leaves headers out"
sed -i 's/-MD/-MMD/' build.ninja
expect 2 0
forget
expect 2 0

begin "46: environment, umask, flags and compiler"
expect 2 0
forget
TZ=elsewhere expect 2 0
forget
(umask 077 && "$larder" build --no-trace >out 2>&1) || fail "umask"
grep -q restored out && fail "restored with another umask"
[ "$(stat -c %a a.o)" = 600 ] || fail "mode"
flags -O1
expect 2 0
flags
expect 0 2
mkdir bin && cp "$(realpath "$(command -v cc)")" bin/cc
export GCC_EXEC_PREFIX=/usr/lib/gcc/ # where a copy finds its parts
outer=$PATH PATH=$PWD/bin:$PATH
expect 2 0
forget
expect 0 2
forget
printf 'more' >>bin/cc
expect 2 0
unset GCC_EXEC_PREFIX
PATH=$outer

begin "warnings and modes come back"
printf '#warning careful\nint b(void) { return 2; }\n' >b.c
expect 2 0
grep -q 'warning.*careful' out || fail "no warning"
forget
expect 0 2
grep -q 'warning.*careful' out || fail "the warning is not repeated"
[ "$(stat -c %a b.o)" = "$(printf %o $((0666 & ~$(umask))))" ] || fail "mode $(stat -c %a b.o)"

begin "a depfile that stays comes back"
sed -i '/deps = gcc/d' build.ninja
expect 2 0
cp a.o.d kept
forget
expect 0 2
cmp a.o.d kept || fail "another depfile"

begin "what comes out different each time is not kept"
echo 'const char *b(void) { return __TIME__; }' >b.c
expect 2 0
forget
expect 1 1 -d explain
grep -q 'b.o cannot be restored: b.c uses __TIME__' out || fail "why is not told"
echo '#define H __DATE__' >more/h.h
printf '#include "h.h"\nconst char *a(void) { return H; }\n' >a.c
expect 1 0 -d explain
grep -q 'a.o is not kept: more/h.h uses __DATE__' out || fail "why is not told"

begin "commands that are not known run"
cat >>build.ninja <<'END'
rule sh
  command = cat $in >$out && echo "$out: $in" >$out.d
  depfile = $out.d
rule cov
  command = cc --coverage -MD -MF $out.d -o $out -c $in
  depfile = $out.d
rule script
  command = ./cc -MD -MF $out.d -o $out -c $in
  depfile = $out.d
rule plain
  command = cc -o $out -c $in
build s: sh a.c
build c.o: cov b.c
build d.o: script b.c
build e.o: plain b.c
END
printf '#!/bin/sh\nexec cc "$@"\n' >cc
chmod +x cc
expect 6 0
forget
rm s
expect 4 2 -d explain
grep -q "s cannot be restored: its command is a shell's" out || fail "shell"
grep -q 'c.o cannot be restored: with --coverage' out || fail "coverage"
grep -q 'd.o cannot be restored: what ./cc reads and writes is not known' out || fail "script"
grep -q 'e.o cannot be restored: what it reads is not known: it writes no depfile' out || fail "no depfile"

begin "flags that make a compiler read or write more, and those that nobody knows, run"
for more in -save-temps -fstack-usage -fcallgraph-info -DX=__TIME__ -ftime-report; do
  "$larder" build --no-trace -t clean >/dev/null 2>&1
  flags "$more"
  "$larder" build --no-trace -k 0 -d explain >out 2>&1
  grep -q "a.o cannot be restored: with $more its compiler" out || fail "$more: why is not told"
done

begin "a damaged store is a command that runs"
expect 2 0
cp a.o whole
forget
find "$LARDER_DIR" -type f -size +100c | while read -r file; do
  chmod u+w "$file"
  printf 'XXXXXXXX' | dd of="$file" bs=1 seek=90 conv=notrunc 2>/dev/null
done
expect 2 0
cmp whole a.o || fail "a.o is wrong"
forget
expect 0 2

begin "a store that cannot be opened"
mkdir -p "$LARDER_DIR"
echo file >"$LARDER_DIR/blocked"
LARDER_DIR=$LARDER_DIR/blocked expect 2 0
LARDER_DIR=$LARDER_DIR/blocked expect 0 0
forget
LARDER_DIR=$LARDER_DIR/blocked expect 2 0 -d explain
grep -q 'cannot be restored: the store cannot be used' out || fail "why is not told"

begin "an output in whose place nothing can be put"
expect 2 0
rm -rf a.o .larder
mkdir a.o
"$larder" build --no-trace >out 2>&1 && fail "a directory was overwritten"
rmdir a.o
expect 0 1

begin "38: a header that changes while it is compiled"
mkdir bin
cat >bin/as <<'END'
#!/bin/sh
[ -e once ] || { : >once; echo '#define H 8' >more/h.h; }
PATH=${PATH#*:} exec as "$@"
END
chmod +x bin/as
PATH=$PWD/bin:$PATH "$larder" build --no-trace >out 2>&1 || fail "the first"
cc -Iinc -Imore -o check.o -c a.c && cmp check.o a.o || fail "a.o is stale"
for h in 1 8; do
  echo "#define H $h" >more/h.h
  forget
  PATH=$PWD/bin:$PATH "$larder" build --no-trace >out 2>&1 || fail "again"
  cc -Iinc -Imore -o check.o -c a.c && cmp check.o a.o || fail "a.o is of another header"
done

begin "40: killed while it restores"
for i in $(seq 12); do
  echo "int f$i(void) { return $i; }" >"f$i.c"
  echo "build f$i.o: cc f$i.c" >>build.ninja
done
expect 14 0
mkdir whole && cp ./*.o whole
for i in $(seq 12); do
  forget
  "$larder" build --no-trace >/dev/null 2>&1 &
  job=$!
  until [ -e "f$i.o" ] || ! kill -0 $job 2>/dev/null; do :; done
  kill "-$([ $((i % 2)) -eq 0 ] && echo TERM || echo KILL)" $job 2>/dev/null
  wait $job 2>/dev/null
  for file in *.o; do cmp -s "$file" "whole/$file" || fail "$file is no whole one"; done
  "$larder" build --no-trace >out 2>&1 || fail "after the kill"
  for file in whole/*.o; do cmp -s "$file" "$(basename "$file")" || fail "$file differs"; done
done

begin "61: an alias as input, a generated header"
cat >build.ninja <<'END'
rule gen
  command = cp $in $out
rule cc
  command = cc -Iinc -Imore -MD -MF $out.d -o $out -c $in
  depfile = $out.d
  deps = gcc
build more/gen.h: gen gen.in
build headers: phony more/gen.h
build a.o: cc a.c | headers
build b.o: cc b.c || more/gen.h
END
echo '#define G 1' >gen.in
printf '#include "gen.h"\nint b(void) { return G; }\n' >b.c
expect 3 0
forget
rm more/gen.h
expect 1 2
echo '#define G 2' >gen.in
expect 3 0
echo '#define G 1' >gen.in
expect 1 2
cc -Iinc -Imore -o check.o -c b.c && cmp check.o b.o || fail "b.o is stale"

begin "files that the command line names"
echo '#define F 1' >forced
flags "-include forced"
printf 'int b(void) { return F; }\n' >b.c
expect 2 0
echo '#define F 2' >forced
forget
expect 2 0
echo '#define F 1' >forced
forget
expect 0 2

# Whatever a flag may mean by it.
flags "-DF=forced"
printf 'int b(void) { return 2; }\n' >b.c
expect 2 0
echo other >forced
forget
expect 2 0

begin "85: after any edits, as the compiler alone"
seed=11
for round in $(seq 40); do
  seed=$(((seed * 1103515245 + 12345) % 2147483648))
  pick=$((seed / 65536))
  case $((pick % 8)) in
  0 | 1) echo "#define H $((pick / 8 % 3))" >more/h.h ;;
  2) echo "#define H $((pick / 8 % 3))" >inc/h.h ;;
  3) rm -f inc/h.h ;;
  4) echo "int b(void) { return $((pick / 8 % 3)); }" >b.c ;;
  5) flags "-DX=$((pick / 8 % 2))" ;;
  6) forget ;;
  7) echo mine >a.o ;;
  esac
  "$larder" build --no-trace >out 2>&1 || fail "round $round"
  # What only appeared in the place of a header is not seen by a step that ran.
  [ $((pick % 8)) -ne 2 ] && [ $((pick % 8)) -ne 3 ] || { forget && "$larder" build --no-trace >>out 2>&1; } || fail "round $round"
  for each in a b; do
    cc -Iinc -Imore -o check.o -c $each.c && cmp check.o $each.o || fail "$each.o in round $round"
  done
done

begin "from a bundle"
expect 2 0
"$larder" export "$top/one/all.larder" >out 2>&1 || fail "export"
rm -rf "$LARDER_DIR"
forget
LARDER_BUNDLES=$top/one/all.larder expect 0 2

begin "what the store holds is told"
expect 2 0
"$larder" ls --kind build-step >out 2>&1 || fail "ls"
[ "$(grep -c build-step out)" -ge 2 ] || fail "the products are not listed"

echo "every scenario holds"
