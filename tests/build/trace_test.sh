#!/bin/bash
# `larder build --trace` and `--strict`: what commands read and write without saying so is seen, told and learnt, and
# keeps them from being restored. Usage: trace_test.sh LARDER
# shellcheck disable=SC2317,SC2015,SC2016 # functions are called by name; what fails either way fails; others expand
set -u
larder=$(realpath "$1")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
export HOME=$top XDG_RUNTIME_DIR=$top/run LARDER_DIR=$top/store
unset MAKEFLAGS NINJA_STATUS LARDER_DISABLE LARDER_MODE CPATH

scenario=none
fail() {
  echo "FAIL: $scenario: $*" >&2
  [ ! -e out ] || cat out >&2
  exit 1
}
begin() {
  scenario=$1
  rm -rf "$LARDER_DIR" "$top/one"
  mkdir -p "$top/one/.git" && cd "$top/one" || exit 2
}
# step NAME INPUTS COMMAND: one step more.
step() {
  printf 'rule r_%s\n  command = %s\n%s\nbuild %s: r_%s %s\n' "${1%%.*}" "$3" "${4:-}" "$1" "${1%%.*}" "$2" >>build.ninja
}
build() {
  local expected=$1 code=0
  shift
  "$larder" build "$@" >out 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || fail "exit $code, not $expected"
}
says() { grep -qF -- "$1" out || fail "does not say: $1"; }
is_silent_of() { ! grep -qF -- "$1" out || fail "says: $1"; }
ran() { [ "$(grep -c '^\[' out)" -eq "$1" ] || fail "$(grep -c '^\[' out) ran, not $1"; }

begin "where nothing can be traced, --trace says so once and --strict refuses"
step a '' 'touch a'
step b '' 'touch b'
mkdir outer
cat >outer/build.ninja <<END
rule n
  command = cd .. && $larder build \$how >$top/nested 2>&1; echo \$\$? >>$top/nested; touch outer/\$out
build trace: n
  how = --trace a b
build strict: n
  how = --strict a b
END
build 0 --trace -C outer trace
[ "$(grep -c 'not traced' "$top/nested")" -eq 1 ] || fail "$(cat "$top/nested")"
[ "$(tail -n 1 "$top/nested")" -eq 0 ] && [ -e a ] && [ -e b ] || fail "the inner build did not go on"
build 0 --trace -C outer strict
grep -q 'strict cannot be kept here' "$top/nested" || fail "$(cat "$top/nested")"
[ "$(tail -n 1 "$top/nested")" -eq 2 ] || fail "the inner build went on"

begin "an undeclared write is told, and fails its step under --strict"
step made '' 'echo a > made; echo b > stray; echo c > other/deep'
mkdir other
build 0 --trace
says 'warning: made: the command wrote what its step does not declare: stray, other/deep'
build 0 --trace
ran 0
rm made
build 1 --strict
says 'declare: stray, other/deep'
says 'FAILED:'
build 1 --strict
rm made
build 0 --no-trace
is_silent_of 'does not declare'
build 0
ran 0
rm made
build 0
says 'warning: made: the command wrote what its step does not declare: stray, other/deep'

begin "what is no undeclared write"
step made '' 'mkdir -p new/er && echo a > made.tmp && mv made.tmp made && echo a > gone && rm gone && test -w in && exec 3>>in' \
  '  depfile = made.d'
step gen '' 'echo a > gen; echo b > generated' '  generator = 1'
step all '' 'mkdir -p all; echo b > all/file; touch all'
step sh '' 'mkdir -p t; echo x > t/a; mv t u; rm -r u; echo a > sh; echo b > /dev/null'
: >in
build 0 --strict
is_silent_of warning
printf 'rule task\n  command = echo a > log\nbuild run-it: task\nbuild alias: phony run-it\n' >build.ninja
build 0 --strict alias
is_silent_of warning

begin "directories that move, links and own inputs are writes"
mkdir was
echo a >was/file
echo a >in
step moved '' 'touch moved; mkdir t; echo a > t/inside; mv t now'
step link '' 'touch link; ln -sf in stray'
step input in 'touch input; echo b >> in'
step removed '' 'touch removed; rm -r was'
build 0 --trace
says 'moved: the command wrote what its step does not declare: now/inside'
says 'link: the command wrote what its step does not declare: stray'
says 'removed: the command wrote what its step does not declare: was, was/file'
says 'input: the command wrote what its step does not declare: in'

begin "an undeclared read is learnt, and told under --strict"
step made in 'cat in more/hidden > made; cat way > /dev/null; ls list'
mkdir more list
echo a >in
echo b >more/hidden
echo c >target
ln -s target way
build 0 --strict
says 'warning: made: the command read what its step does not declare: more/hidden, target, list'
build 0
ran 0
echo c >more/hidden
build 0 --trace
ran 1
is_silent_of warning
touch more/hidden list
build 0
ran 0
touch list/news
build 0 --trace
ran 1
echo d >target2
ln -sf target2 way
build 0 --trace
ran 1

begin "what was looked for and is not there is told to who asks"
step made '' 'test -e ghost || touch made'
build 0 --trace -d explain
says 'made: its command looked for what is not there: ghost'

begin "what another step makes and nobody declared is made first from then on"
step made '' 'cat second > made 2>/dev/null || echo none > made'
step second '' 'sleep 0.2; echo right > second'
build 0 --trace -j 2
build 0 --trace -j 2
echo wrong >second
build 0 -j 2
[ "$(cat made)" = right ] || fail "made of $(cat made)"

begin "what lies behind a step is no dependency of it"
step first '' 'cat last 2>/dev/null; echo a > first'
step last first 'echo b > last'
build 0 --trace
rm first
build 0 --strict
says 'warning: first: the command read what its step does not declare: last'
build 0
ran 0

begin "what is not declared keeps a product from being restored"
echo 'int a(void) { return 1; }' >a.c
cat >build.ninja <<'END'
side =
rule cc
  command = cc -MD -MF $out.d -o $out -c $in
  depfile = $out.d
  deps = gcc
build a.o: cc a.c
END
again() { rm -rf a.o a.o.d .larder; }
build 0 --trace -d explain
is_silent_of 'not kept'
again
build 0 --trace
says '(restored)'
# An assembler that writes more than it is asked for; a depfile tells neither of that nor of what it reads.
mkdir -p "$top/bin"
printf '#!/bin/sh\n: >%s\nexec %s "$@"\n' '"$STRAY"' "$(command -v as)" >"$top/bin/as"
chmod +x "$top/bin/as"
for stray in "$PWD/stray" "$top/stray"; do
  again
  STRAY=$stray PATH=$top/bin:$PATH build 0 --trace -d explain
  says 'a.o is not kept: the command wrote '
  again
  STRAY=$stray PATH=$top/bin:$PATH build 0 --trace
  is_silent_of '(restored)'
done
echo '__asm__(".inc" "bin \"hidden\"");' >>a.c
echo 1 >hidden
build 0 --trace -d explain
says 'a.o is not kept: the command read what its step does not declare: hidden'
echo 2 >hidden
build 0 --trace
ran 1
is_silent_of '(restored)'

begin "what is made beside a command that looked for it before is read by its next try"
mkfifo gate up
step gen.h '' 'read _ <up; echo right > gen.h'
step told gen.h 'echo go >gate; touch told'
step made '' 'if [ -e ../first ]; then cat gen.h >made; else : >../first; exec 3<>gate 4<>up; x=wrong; read x <$$PWD/gen.h; echo up >&4; read _ <&3; echo $$x >made; fi'
build 0 --trace -j 3
[ "$(cat made)" = right ] || fail "it holds $(cat made)"
build 0 --trace
ran 0

begin "many at once"
for i in $(seq 200); do
  step "o$i" "" "cat hidden$i > o$i; echo a > t$i; mv t$i u$i; rm u$i"
  echo "$i" >"hidden$i"
done
build 0 --strict -j 8
[ "$(grep -c 'does not declare: hidden' out)" -eq 200 ] || fail "not all were seen"
for i in $(seq 200); do grep -q "o$i: .*: hidden$i\$" out || fail "o$i read something else"; done
build 0 --strict
ran 0

begin "a build that is killed takes its traced commands along"
step made '' 'echo $$$$ > pid; echo up > gate; cat never'
mkfifo gate never
"$larder" build --trace >out 2>&1 &
build_pid=$!
read -r _ <gate
kill -9 "$build_pid"
wait "$build_pid" 2>/dev/null
for _ in $(seq 200); do
  kill -0 "$(cat pid)" 2>/dev/null || break
  sleep 0.05
done
kill -0 "$(cat pid)" 2>/dev/null && fail "the command goes on"
[ ! -s made ] || fail "it believed that it was done"

begin "what a command leaves running is not hindered"
step made '' '(read _ <gate; cat in > copied; echo done > gate) >/dev/null 2>&1 </dev/null & touch made'
mkfifo gate
echo a >in
build 0 --trace -d explain
echo go >gate
read -r _ <gate
[ "$(cat copied)" = a ] || fail "it could not read"

begin "a build is interrupted"
step made '' 'echo up > gate; sleep 1000'
mkfifo gate
"$larder" build --trace >out 2>&1 &
build_pid=$!
read -r _ <gate
kill -TERM "$build_pid"
code=0
wait "$build_pid" || code=$?
[ "$code" -eq 130 ] || fail "exit $code"

begin "what a command read and only looks at the next time, as make does, is a dependency still"
mkdir sub
printf 'lib: a.o b.o\n\tcat a.o b.o >lib\na.o: a.c\n\tcp a.c a.o\nb.o: b.c\n\tcp b.c b.o\n' >sub/Makefile
echo a >sub/a.c
echo b >sub/b.c
step out.lib '' 'make -s -C sub && cp sub/lib out.lib'
build 0
for word in one two; do
  for file in a b; do
    sleep 0.02
    echo "$word" >sub/$file.c
    build 0
    ran 1
    [ "$(cat out.lib)" = "$(cat sub/a.c sub/b.c)" ] || fail "stale after $file is $word"
  done
done
build 0
ran 0

echo "all as it should be"
