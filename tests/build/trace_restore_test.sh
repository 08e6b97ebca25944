#!/bin/bash
# `larder build` restores links, archives, scripts and whatever else only a trace tells the reads of; and a step that
# looked for what was not there runs when it comes. Usage: trace_restore_test.sh LARDER
# shellcheck disable=SC2317,SC2015,SC2016 # functions are called by name; what fails either way fails; others expand
set -u
larder=$(realpath "$1")
top=$(mktemp -d)
trap 'chmod -R u+w "$top"; rm -rf "$top"' EXIT
export HOME=$top XDG_RUNTIME_DIR=$top/run LARDER_DIR=$top/store
unset MAKEFLAGS NINJA_STATUS LARDER_DISABLE LARDER_MODE CPATH WORD

scenario=none
fail() {
  echo "FAIL: $scenario: $*" >&2
  [ ! -e out ] || cat out >&2
  exit 1
}
begin() {
  scenario=$1
  chmod -R u+w "$top"
  rm -rf "$LARDER_DIR" "$top/one" "$top/two" "$top/stray"
  mkdir -p "$top/one/.git" && cd "$top/one" || exit 2
}
# step NAME INPUTS COMMAND MORE: one step more.
step() {
  printf 'rule r_%s\n  command = %s\n%s\nbuild %s: r_%s %s\n' "${1%%[. ]*}" "$3" "${4:-}" "$1" "${1%%[. ]*}" "$2" \
    >>build.ninja
}
# expect RAN RESTORED WORDS...: how many commands ran, and how many steps were restored.
expect() {
  local ran=$1 restored=$2 code=0 did_restore did
  shift 2
  "$larder" build "$@" >out 2>&1 || code=$?
  [ "$code" -eq 0 ] || fail "exit $code"
  did_restore=$(grep -c '^\[.*(restored)$' out)
  did=$(($(grep -c '^\[' out) - did_restore))
  [ "$did $did_restore" = "$ran $restored" ] || fail "ran $did and restored $did_restore, not $ran and $restored"
}
says() { grep -qF -- "$1" out || fail "does not say: $1"; }
is_silent_of() { ! grep -qF -- "$1" out || fail "says: $1"; }
forget() { rm -rf .larder "$@"; }

"$larder" build --help >/dev/null || exit 2
mkdir -p "$top/probe" && cd "$top/probe" || exit 2
printf 'rule r\n  command = touch $out\nbuild a: r\n' >build.ninja
"$larder" build --trace >out 2>&1
if grep -q 'not traced' out; then
  echo "SKIP: $(cat out)"
  exit 77
fi

begin "a script, there and back"
echo 'cat data more/data' >tool.sh
mkdir more
echo 1 >data
echo 1 >more/data
step made data 'sh tool.sh > made'
expect 1 0
expect 0 0
echo 2 >more/data
expect 1 0
grep -q 2 made || fail "made of something old"
echo 1 >more/data
expect 0 1
cmp -s made <(printf '1\n1\n') || fail "restored something else"
expect 0 0
echo 'cat more/data' >tool.sh
expect 1 0
echo 'cat data more/data' >tool.sh
rm -rf made .larder
expect 0 1
expect 0 0

begin "compilations, archives and links, in a second checkout, too"
mkdir src
echo 'int a(void) { return 1; }' >src/a.c
echo 'int a(void); int main(void) { return a() - 1; }' >src/main.c
cat >build.ninja <<'END'
rule cc
  command = cc -MD -MF $out.d -o $out -c $in
  depfile = $out.d
  deps = gcc
rule ar
  command = rm -f $out && ar qc $out $in && ranlib $out
rule link
  command = cc -o $out $in
build a.o: cc src/a.c
build main.o: cc src/main.c
build liba.a: ar a.o
build main: link main.o liba.a
END
expect 4 0
is_silent_of warning
cp main liba.a "$top"
forget main liba.a ./*.o
expect 0 4
./main || fail "what was restored does not run"
cmp -s main "$top/main" && cmp -s liba.a "$top/liba.a" || fail "restored something else"
expect 0 0
mkdir -p "$top/two/.git" && cp -r build.ninja src "$top/two" && cd "$top/two" || exit 2
expect 0 4
./main || fail "what was restored elsewhere does not run"
echo 'int a(void) { return 2; }' >src/a.c
expect 3 0
./main && fail "an old product was linked"
echo 'int a(void) { return 1; }' >src/a.c
expect 0 3
./main || fail "back is not as it was"

begin "what holds the path of its root serves no other"
step made '' 'pwd > made'
expect 1 0
forget made
expect 0 1
mkdir -p "$top/two/.git" && cp build.ninja "$top/two" && cd "$top/two" || exit 2
expect 1 0 -d explain
says 'made below another root, and made holds the path'
[ "$(cat made)" = "$top/two" ] || fail "made elsewhere"

begin "nor does what may depend on it without holding it"
n=0
while IFS= read -r command; do
  n=$((n + 1))
  rm -rf "$top/longer" build.ninja .larder made
  mkdir -p "$top/longer/.git" src "$top/longer/src"
  echo 'int a;' >src/a.cc
  echo 'int a;' >"$top/longer/src/a.cc"
  cp src/a.cc a.png
  cp a.png "$top/longer"
  step made '' "${command//ROOT/$PWD}"
  expect 1 0
  (
    cd "$top/longer" || exit 2
    step made '' "${command//ROOT/$PWD}"
    expect 1 0 -d explain
    says 'made is not restored: it was made below another root, and '
    cp made own
    forget made
    expect 0 1
    cmp -s made own || fail "not its own"
  ) || fail "$command"
  is_silent_of '(restored)'
done <<'END'
basename $$(dirname $$PWD) > made
pwd | md5sum > made
pwd | wc -c > made
readlink -f . | rev > made
echo ROOT/src/a.cc | md5sum > made
python3 -c "import os; print(len(os.getcwd()))" > made
echo $$PWD | cut -c2-9 > made
w=ROOT/src; echo $${#w} > made
objcopy -I binary -O elf64-x86-64 ROOT/a.png made
cc -x c++ -c -o made -DR='"ROOT"' src/a.cc
END
[ "$n" -eq 10 ] || fail "$n ran"
rm -rf "$top/longer"

begin "copies serve below every root"
n=0
while IFS= read -r command; do
  n=$((n + 1))
  rm -rf "$top/longer" build.ninja .larder made
  mkdir -p "$top/longer/.git"
  echo 'int a;' >a.cc
  cp a.cc "$top/longer"
  step made '' "${command//ROOT/$PWD}"
  expect 1 0
  (
    cd "$top/longer" || exit 2
    step made '' "${command//ROOT/$PWD}"
    expect 0 1
  ) || fail "$command"
done <<'END'
cp ROOT/a.cc made
cd ROOT && cat a.cc > made
rm -f made && ar qcD made ROOT/a.cc
cc -c -x c++ -o made ROOT/a.cc
END
[ "$n" -eq 4 ] || fail "$n ran"
rm -rf "$top/longer"

begin "what was looked for and not there has its step run when it comes"
step made '' 'if [ -e ghost ]; then echo there; else echo none; fi > made; test -e deep/er/file || :'
expect 1 0 -d explain
says 'made: its command looked for what is not there: ghost, deep'
expect 0 0
: >ghost
expect 1 0 -d explain
says 'made runs: ghost changed (missing -> '
[ "$(cat made)" = there ] || fail "it was made without"
expect 0 0
rm ghost
expect 0 1
[ "$(cat made)" = none ] || fail "it was restored as if it were there"
expect 0 0
mkdir deep
expect 1 0
mkdir deep/er
expect 1 0
rm -r deep
expect 0 0
"$larder" build -t deps made >out
is_silent_of ghost

begin "a header that comes before one that was found is seen without being read"
mkdir first second
echo '#define A 1' >second/h.h
printf '#include "h.h"\nint a = A;\n' >a.c
step a.o a.c 'cc -Ifirst -Isecond -MD -MF a.o.d -o a.o -c a.c' '  depfile = a.o.d
  deps = gcc'
expect 1 0
cp a.o "$top/a1.o"
echo '#define A 2' >first/h.h
expect 1 0
cmp -s a.o "$top/a1.o" && fail "made of the wrong header"
rm first/h.h
expect 0 1
cmp -s a.o "$top/a1.o" || fail "restored with the wrong header"

begin "names in a directory, there and back"
mkdir list
: >list/a
step made '' 'ls list > made'
expect 1 0
: >list/b
expect 1 0
rm list/b
expect 0 1
[ "$(cat made)" = a ] || fail "restored with other names"

begin "links that lead elsewhere"
echo 1 >one
echo 2 >two
ln -s one way
step made '' 'cat way > made'
expect 1 0
ln -sfn two way
expect 1 0
[ "$(cat made)" = 2 ] || fail "made of what the link led to"
ln -sfn one way
expect 0 1
[ "$(cat made)" = 1 ] || fail "restored for another link"

begin "modes, words, links and several outputs come back"
step 'made second third' '' 'echo hello; echo a > made; chmod 755 made; echo b > second; ln -s second third'
expect 1 0
forget made second third
expect 0 1
says hello
[ -x made ] && [ "$(cat second)" = b ] && [ "$(readlink third)" = second ] || fail "not as they were"
expect 0 0

begin "a response file counts"
step made '' 'cat made.rsp > made' '  rspfile = made.rsp
  rspfile_content = $words'
sed -i '1i words = one' build.ninja
expect 1 0
sed -i 's/^words.*/words = two/' build.ninja
expect 1 0
[ "$(cat made)" = two ] || fail "made of other words"
sed -i 's/^words.*/words = one/' build.ninja
expect 0 1
[ "$(cat made)" = one ] || fail "restored with other words"

begin "an undeclared output of another step is waited for and counts"
step made first 'cat first.side > made'
step first data 'cat data > first.side; echo a > first'
echo 1 >data
expect 2 0
says 'first: the command wrote what its step does not declare: first.side'
forget made first first.side
echo 2 >data
expect 2 0
[ "$(cat made)" = 2 ] || fail "made of an old side"

begin "what cannot be known is not kept"
n=0
while IFS='|' read -r command why; do
  n=$((n + 1))
  rm -rf build.ninja .larder made
  step made '' "$command"
  expect 1 0 -d explain
  says "made is not kept: $why"
  forget made
  expect 1 0
done <<END
echo a > made; echo b > stray|the command wrote what its step does not declare: stray
echo a > made; echo b > $top/stray|the command wrote outside the project: $top/stray
date > made|it ran date, which tells what no file does
cat /proc/cpuinfo > made|it read /proc/cpuinfo
ls > made|it listed 
python3 -c 'import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM); open("made", "w")'|what the command did cannot be known: it used the network
END
[ "$n" -eq 6 ] || fail "$n ran"
rm -rf build.ninja .larder
: >made
step made '' 'echo a >> made'
expect 1 0 -d explain
says 'made is not kept: the command read the old made'

begin "variables that interpreters listen to count, and those that the command names"
step made '' 'python3 -c "import os; print(os.environ.get(\"PYTHONSTARTUP\"), os.environ.get(\"WORD\"))" $$WORD > made'
expect 1 0
forget made
PYTHONSTARTUP=x expect 1 0
forget made
WORD=x expect 1 0
forget made
expect 0 1

begin "what is restored is what its command made, or it runs"
step made '' 'echo a > made'
expect 1 0
find "$LARDER_DIR" -type f -size +0 -exec sh -c 'printf x | dd of="$1" bs=1 seek=40 conv=notrunc 2>/dev/null' - {} \;
forget made
expect 1 0
[ "$(cat made)" = a ] || fail "restored something damaged"

begin "--no-trace and --no-restore"
step made '' 'echo a > made; test -e ghost || :'
expect 1 0 --no-trace -d explain
says 'made cannot be restored: '
is_silent_of 'looked for'
forget made
expect 1 0
forget made
expect 1 0 --no-trace
forget made
expect 1 0 --no-restore
forget made
expect 0 1
"$larder" build --no-trace --strict >out 2>&1 && fail "it traced"
says 'cannot be said here'

begin "where nothing can be traced, nothing that only a trace tells is restored"
step made '' 'echo a > made'
expect 1 0
mkdir outer
cat >outer/build.ninja <<END
rule n
  command = cd .. && rm -rf .larder made && $larder build -d explain >$top/nested 2>&1; touch outer/\$out
build inner: n
END
"$larder" build --trace -C outer >out 2>&1 || fail "the outer build failed"
cp "$top/nested" out
says 'commands are not traced, so only compilations are restored'
says 'made cannot be restored: '
is_silent_of '(restored)'
is_silent_of 'warning'

begin "a program with its owner's rights runs untraced"
cp "$(type -P true)" own && chmod 4755 own
step made '' './own && echo a > made; : $$WORD'
expect 1 0 -d explain
[ "$(grep -c 'made runs' out)" -eq 2 ] || fail "it did not run again"
expect 0 0

echo "all as it should be"
