#!/bin/bash
# `larder watch` on small manifests, by the real command: what runs after which change, and what is told of it. A test
# waits, at most a minute, for a line that is told. Usage: watch_test.sh LARDER [FAILING_INOTIFY.so]
# shellcheck disable=SC2317,SC2015,SC2016 # functions are called by name; what fails either way fails; sed and others expand
set -u
larder=$(realpath "$1")
shim=${2:+$(realpath "$2")}
top=$(mktemp -d)
work=$top/work
watch=
stop() {
  [ -z "$watch" ] || { kill -CONT "$watch"; kill -TERM "$watch"; wait "$watch"; } 2>/dev/null
  watch=
}
trap 'stop; rm -rf "$top"' EXIT
export HOME=$top XDG_RUNTIME_DIR=$top/run
unset MAKEFLAGS NINJA_STATUS LARDER_DISABLE
mkfifo "$top/nothing"

scenario=none
fail() {
  echo "FAIL: $scenario: $*" >&2
  cat "$work/out" "$work/err" >&2
  exit 1
}
# Rule `r` copies its inputs together and says so; `t` strips comments, so that its output can come out the same.
begin() {
  stop
  scenario=$1
  rm -rf "$work"
  mkdir "$work"
  cd "$work" || exit 2
  cat >build.ninja <<'END'
rule r
  command = echo $out >>ran; cat $in >$out
rule t
  command = echo $out >>ran; grep -v '^#' $in >$out || :
END
  cat >>build.ninja
  echo one >a
  echo two >b
  : >ran
}
# Until a command says yes, at most a minute.
until_yes() {
  local what=$1 i
  shift
  for ((i = 0; i < 6000; ++i)); do
    ! "$@" || return 0
    kill -0 "$watch" 2>/dev/null || fail "$what: it has ended"
    read -r -t 0.01 <>"$top/nothing" || :
  done
  fail "$what"
}
told() { [ "$(cat out err 2>/dev/null | grep -c -- "$1")" -ge "$2" ]; }
# A line of `out` and `err` matches as often as is said (once).
await() { until_yes "$2" told "$1" "${3:-1}"; }
has_run() { [ "$(grep -c "^$1\$" ran)" -ge "$2" ]; }
has_text() { [ "$(grep -c -- "$2" "$1")" -ge "$3" ]; }
is_text() { [ "$(cat "$1" 2>/dev/null)" = "$2" ]; }
# Writes a file in one step, as editors do that care: nobody sees half of it, and no stranger comes where it lies.
put() {
  printf '%s\n' "$2" >"$top/put"
  mv "$top/put" "$1"
}
# Longer than the kernel's clock stands still: what a command discovers must be older than the command, or it runs again.
settle() { read -r -t 0.05 <>"$top/nothing" || :; }
launch() {
  "$larder" watch "$@" >out 2>err &
  watch=$!
}
start() {
  launch "$@"
  await '^larder: watching ' "it does not begin"
}
# What ran since the last time this was asked.
ran() {
  local did
  did=$(sort ran | uniq -c | awk '{print $2 ($1 > 1 ? "*" $1 : "")}' | tr '\n' ' ')
  : >ran
  [ "${did% }" = "$1" ] || fail "ran '${did% }', not '$1'"
}

begin "a change, cut-off, and nobody told of what is the same" <<'END'
build x: t a
build y: r x
build z: r b
END
start
ran "x y z"
echo more >>a
await '^larder: changed y' "y is not told" 2
ran "x y"
echo '# a comment' >>a
until_yes "x does not run" has_run x 1
echo three >>b
await '^larder: changed z' "z is not told" 2
ran "x z"
[ "$(grep -c 'changed y' out)" -eq 2 ] || fail "y was told although it came out the same"
touch a b x y z
echo four >>b
await '^larder: changed z' "z is not told again" 3
ran "z"

begin "behind an empty output, and behind a thin archive" <<'END'
rule stamp
  command = echo $out >>ran; cp a beside; : >$out
rule read
  command = echo $out >>ran; cat beside >$out
rule archive
  command = echo $out >>ran; rm -f $out; ar crDT $out $in
rule members
  command = echo $out >>ran; ar p $in >$out
build stamp: stamp a
build of_stamp: stamp stamp
build x: read | of_stamp
build m: r b
build lib.a: archive m
build y: members lib.a
END
start
ran "lib.a m of_stamp stamp x y"
put a two
await '^larder: changed x$' "nobody is told of x" 2
is_text x two || fail "x is stale"
ran "of_stamp stamp x"
put b TWO
await '^larder: changed y$' "nobody is told of y" 2
is_text y TWO || fail "y is stale"
ran "lib.a m y"

begin "73: saved by rename, through a link, in a directory that comes later" <<'END'
build x: r a
build l: r link
build d: r dir/in
END
mkdir dir elsewhere
echo l1 >elsewhere/real
ln -s elsewhere/real link
echo d1 >dir/in
start
ran "d l x"
put a.tmp renamed
mv a.tmp a
await '^larder: changed x' "a rename is not seen" 2
is_text x renamed || fail "x is stale"
put elsewhere/real l2
await '^larder: changed l' "what a link leads to is not seen" 2
rm -r dir
await 'dir/in, needed by d, is missing' "a missing source is not told"
mkdir dir
put dir/in d2
await '^larder: changed d' "a new directory is not seen" 2
is_text d d2 || fail "d is stale"
mkdir other
put other/in d3
mv dir old
mv other dir
await '^larder: changed d' "a directory put in its place is not seen" 3
put dir/in d4
await '^larder: changed d' "a file in it is not seen" 4
is_text d d4 || fail "d is stale"

begin "74: own outputs never retrigger, though they never come out the same" <<'END'
rule now
  command = echo $out >>ran; date +%N | tee $out >$out.more
build x: now a
build y: r x b
END
start
ran "x y"
for i in 1 2 3; do
  echo "$i" >>b
  await '^larder: changed y' "y is not told" $((i + 1))
  ran "y"
done
echo more >>a
await '^larder: changed y' "y is not told" 5
ran "x y"
put x mine # by hand: made again
await '^larder: changed y' "an edited output is not made again" 6
ran "x y"
rm y
until_yes "a deleted output is not made again" has_run y 1
until_yes "y stays away" test -s y

begin "75: a superseded command is ended; its step runs again" <<'END'
rule slow
  command = echo $out >>ran; cp $in $out.part; [ "$$(cat $in)" != wait ] || sleep 1000; mv $out.part $out
build x: slow a
build y: r x
END
start
ran "x y"
put a wait
until_yes "x does not begin" has_run x 1
put a "done"
await '^larder: changed y' "y is not told" 2
is_text y "done" || fail "y is stale"
ran "x*2 y"
[ "$(grep -c changed out)" -eq 2 ] || fail "a superseded state was told"

begin "75: what a superseded command would have fed waits, others go on" <<'END'
rule slow
  command = echo $out >>ran; while [ ! -e go ]; do timeout 0.01 cat ../nothing; done; cat $in >$out
build x: t a
build y: slow b
build z: r x
default y z
END
touch go
start
ran "x y z"
rm go
echo more >>b
until_yes "y does not begin" has_run y 1
echo more >>a # made while y runs
until_yes "z waits for y" has_run z 1
touch go
await '^larder: changed y' "y is not told" 2
ran "x y z"

begin "73: ten thousand changes at once" <<'END'
rule all
  command = echo $out >>ran; cat src/* | cksum >$out
END
mkdir src
write_all() {
  python3 -c 'import sys; [open("src/%d" % i, "w").write(sys.argv[1] + "%d\n" % i) for i in range(1, 5001)]' "$1"
}
write_all old
echo "build x: all | $(seq -f 'src/%g' -s ' ' 5000)" >>build.ninja
start
ran "x"
kill -STOP "$watch" # two changes are told of each file; the kernel's queue holds these
write_all new
kill -CONT "$watch"
await '^larder: changed x' "x is not told" 2
is_text x "$(cat src/* | cksum)" || fail "x is stale after the burst"
ran "x"
write_all newer # while it listens
until_yes "x is stale" is_text x "$(cat src/* | cksum)"

begin "73: the kernel's queue overflows" <<'END'
build x: r a
build y: r b
END
start
ran "x y"
kill -STOP "$watch"
python3 -c 'for i in range(9000): open("stranger%d" % i, "w").close()'
put a late
put b.tmp lost
mv b.tmp b
kill -CONT "$watch"
await '^larder: changed x' "x is not told after an overflow" 2
await '^larder: changed y' "y is not told after an overflow" 2
is_text x late && is_text y lost || fail "stale after an overflow"

begin "66: a failure is tried again at a change, and when a stranger comes" <<'END'
rule must
  command = echo $out >>ran; date +%N >$out; cat $in extra >$out
build x: must a
build y: r b
END
start -k 0
await 'larder: waiting for a change' "the failure is not told"
ran "x y"
touch a
put b two2
await '^larder: changed y' "y is not told" 2
await 'larder: waiting for a change' "the second failure is not told" 2
ran "x y"
put extra here
await '^larder: changed x' "a file that came does not have it tried again"
ran "x"

begin "66: nobody hears again of a failure that is the same" <<'END'
rule must
  command = echo $out >>ran; cat $in extra >$out
build x: must a
build y: r b
END
: >heard # a file that comes would have x tried again
start -k 0 --run 'cat >>heard'
await 'larder: waiting for a change' "the failure is not told"
until_yes "y is not heard of" is_text heard y
for i in 2 3; do
  put a "try $i"
  await 'larder: waiting for a change' "it is not tried again" $i
done
put b more
until_yes "y is not heard of" is_text heard "$(printf 'y\ny')"
ran "x*4 y*2"

begin "59: files come into a directory that a step takes, and leave it" <<'END'
rule list
  command = echo $out >>ran; ls -L src >$out
build x: list src
build y: r x
END
mkdir real
touch real/one
ln -s real src
start
ran "x y"
touch src/two
await '^larder: changed y' "a new file is not seen" 2
mv src/one src/uno
await '^larder: changed y' "another name is not seen" 3
is_text y "$(printf 'two\nuno')" || fail "y is stale"
mkdir other
ln -s other src.new
mv -T src.new src
await '^larder: changed y' "another directory in its place is not seen" 4
is_text y "" || fail "y is stale"
touch src/three
await '^larder: changed y' "a file in it is not seen" 5

begin "59: a step makes a file in a directory that was listed before" <<'END'
rule list
  command = ls gen >$out; echo $out >>ran
rule late
  command = until grep -q x ran; do timeout 0.01 cat ../nothing; done; cat $in >$out; echo $out >>ran
build gen/a: r a
build gen/b: late b
build x: list gen
END
mkdir gen
start -j 3
until_yes "x is stale at first" is_text x "$(printf 'a\nb')"
: >ran
rm gen/b
until_yes "gen/b is not made again" has_run gen/b 1
until_yes "x is stale" is_text x "$(printf 'a\nb')"

begin "76: changes that do not end are not waited for without end" <<'END'
build x: r a
END
start
ran "x"
# Half written all the time: the file is never closed.
python3 -c '
import os, time
with open("a", "a") as file:
  lines = 0
  while not os.path.exists("enough"):
    file.write("more\n"); file.flush(); lines += 1
    time.sleep(0.002)
open("lines", "w").write(str(lines))' &
writer=$!
await '^larder: changed x' "it waits without end" 2
touch enough
wait "$writer"
until_yes "x is stale" cmp -s a x
[ "$(grep -c x ran)" -lt "$(cat lines)" ] || fail "it ran for each of $(cat lines) changes"

begin "77: changes made while nobody watched are seen, and nothing else runs" <<'END'
build x: t a
build y: r x
build z: r b
build w: r b
END
start
ran "w x y z"
stop
put a later
rm z
start
until_yes "y is stale" is_text y later
ran "x y z"
[ "$(grep '^larder: changed' out)" = 'larder: changed y' ] || fail "told: $(grep changed out)" # z is as it was

begin "63: the manifest changes, breaks, and is mended" <<'END'
build x: r a
END
start
ran "x"
cp build.ninja good
echo 'build y: r b' >>build.ninja
await '^larder: changed y' "a new step is not seen"
ran "y"
echo 'build z' >>build.ninja
await 'build.ninja:' "a broken manifest is not told"
cp good build.ninja
await '^larder: removed y' "a step that went is not told"
[ ! -e y ] || fail "y is still there"
ran ""
put a again
await '^larder: changed x' "x is not watched any more" 2

begin "63: a manifest that is made" <<'END'
END
cat >build.ninja <<'END'
rule gen
  command = echo build.ninja >>ran; cp $in $out
  generator = 1
rule r
  command = echo $out >>ran; cat $in >$out
build build.ninja: gen in.ninja
build x: r a
END
cp build.ninja in.ninja
start x
: >ran
sed -i 's/^build x: r a/build x: r a b/' in.ninja
await '^larder: changed x' "the manifest is not made again" 2
ran "build.ninja x"

begin "67: another build meanwhile" <<'END'
build x: r a
build y: r b
END
start x
ran "x"
"$larder" build >other 2>&1 || fail "the other build"
ran "y"
put a more
await '^larder: changed x' "x is not told after another build" 2
ran "x"
"$larder" build >other 2>&1 || fail "the other build"
ran ""

begin "discovered files are watched" <<'END'
rule cc
  command = echo $out >>ran; cat $in $$(cat list) >$out; echo "$out: $$(tr '\n' ' ' <list)" >$out.d
  depfile = $out.d
build x: cc a | list
END
mkdir -p one two
echo h1 >one/h
echo h2 >two/h
echo one/h >list
settle
start
ran "x"
put one/h h1b
await '^larder: changed x' "one/h is not watched" 2
put list two/h
await '^larder: changed x' "list is not watched" 3
ran "x*2"
put two/h h2b
await '^larder: changed x' "two/h is not watched" 4
put one/h h1c # not any more
echo end >>a
await '^larder: changed x' "a is not watched" 5
ran "x*2"

begin "--run hears of products that differ" <<'END'
build x: t a
build y: r b
build all: phony x y
default all
END
start --run 'cat >>heard; echo . >>heard; exit 3'
await 'ended with 3' "it did not run"
is_text heard "$(printf 'x\ny\n.')" || fail "heard $(cat heard)"
echo '# same' >>a
echo more >>b
await 'ended with 3' "it did not run again" 2
[ "$(tail -n2 heard)" = "$(printf 'y\n.')" ] || fail "heard $(cat heard)"

begin "--run --restart: a server is ended for products that differ, and run again" <<'END'
rule must
  command = echo $out >>ran; cat $in >$out && [ ! -e broken ]
build x: t a
build y: must b
END
cat >server <<'END'
trap 'echo ended >>heard; exit 0' TERM
echo "$(cat x) $(paste -sd ' ')" >>heard
while :; do timeout 0.01 cat ../nothing; done
END
: >heard
serve_with() { start -k 0 --run "$1" --restart; }
serve_with '. ./server'
until_yes "it does not run" is_text heard "one x y"
echo '# same' >>a
until_yes "x does not run" has_run x 2
put b more
until_yes "it is not run again" is_text heard "$(printf 'one x y\nended\none y')"
: >broken
put b bad
echo later >>a
await 'larder: waiting for a change' "the failure is not told"
until_yes "x does not run" has_run x 3
rm broken
put b good
await '^larder: changed y' "y is not told" 3
until_yes "it is not run again once the build is well" grep -q '^later x y$' heard
stop
[ "$(grep -c ended heard)" -eq 3 ] || fail "it goes on: $(cat heard)"
: >heard
serve_with '. ./server'
until_yes "it does not run where nothing differs" test -s heard
stop
: >heard
serve_with 'trap "" TERM; echo "stubborn $$" >>heard; while :; do timeout 0.01 cat ../nothing; done'
until_yes "it does not run" test -s heard
read -r _ first <heard
put b another
until_yes "a stubborn one is not ended" has_text heard stubborn 2
kill -0 "$first" 2>/dev/null && fail "two run"
"$larder" watch --restart >out 2>err
[ $? -eq 2 ] || fail "--restart alone"

begin "a restart begins from the seal, or without one" <<'END'
rule slow
  command = echo $out >>ran; : >started; while [ -e hold ]; do sleep 0.01; done; cat $in >$out
build x: slow a
build y: r x b
END
start -d explain
ran "x y"
stop
start -d explain
await 'explain: it begins from a seal$' "there was no seal"
ran ""
echo more >>a
await '^larder: changed y' "a change behind a restart is not seen"
ran "x y"
stop
echo more >>b
start -d explain
await 'explain: it begins from a seal, but' "there was no seal of the rest"
await '^larder: changed y' "a change while nobody watched is not seen"
ran "y"
kill -KILL "$watch"
wait "$watch" 2>/dev/null
rm y
start
ran "y"
stop
printf x >>.larder/build.ninja.seal
start -d explain
! told 'begins from a seal' 1 || fail "a damaged seal was taken"
ran ""
stop
start -d explain
await 'explain: it begins from a seal$' "the damaged seal was not replaced"
stop
sed -i '1i builddir = b.d' build.ninja
rm started
: >hold
launch
until_yes "x does not run" test -e started
flock -n .larder/lock true || fail "it holds a lock that is not its own any more"
! flock -n b.d/.larder/lock true || fail "nobody holds the lock of the builddir"
rm hold
await '^larder: watching ' "it does not begin"
ran "x y"

begin "it ends when told to" <<'END'
rule slow
  command = echo $out >>ran; sleep 1000; touch $out
build x: r a
build y: slow b
END
start x
kill -TERM "$watch"
wait "$watch" || fail "exit $? on SIGTERM"
launch
until_yes "y does not begin" has_run y 1
kill -TERM "$watch"
code=0
wait "$watch" || code=$?
watch=
[ "$code" -eq 130 ] || fail "exit $code when interrupted within the first build"
[ ! -e y ] || fail "half of y is left"

if [ -n "$shim" ]; then
  begin "no inotify, and none left" <<'END'
build x: r a
END
  code=0
  LD_PRELOAD=$shim LARDER_TEST_INOTIFY=none "$larder" watch >out 2>err || code=$?
  [ "$code" -eq 2 ] || fail "exit $code without inotify"
  grep -q 'max_user_instances' err || fail "it does not say why"
  LD_PRELOAD=$shim LARDER_TEST_INOTIFY=few launch
  await '^larder: watching ' "it does not begin"
  await 'fs.inotify.max_user_watches' "it does not say that watches ran out"
  put a polled
  await '^larder: changed x' "nothing looks" 2
  put a again
  await '^larder: changed x' "nothing looks any more" 3
  [ "$(grep -c max_user_watches err)" -eq 1 ] || fail "it says so more than once"
fi
stop
echo "every scenario holds"
