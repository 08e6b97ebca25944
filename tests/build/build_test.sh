#!/bin/bash
# `larder build` on small manifests, by the real command: what runs, what does not, and what is left behind by whatever
# goes wrong. The numbers are those of docs/peer-scenarios.md. Usage: build_test.sh LARDER ODD_SYSTEM_LIBRARY
# shellcheck disable=SC2317,SC2015,SC2016 # functions are called by name; what fails either way fails; sed and others expand
set -u
larder=$(realpath "$1")
odd_system=$(realpath "$2")
top=$(mktemp -d)
trap 'rm -rf "$top"' EXIT
export HOME=$top XDG_RUNTIME_DIR=$top/run
unset MAKEFLAGS NINJA_STATUS LARDER_DISABLE

scenario=none
fail() {
  echo "FAIL: $scenario: $*" >&2
  [ ! -e "$work/out" ] || cat "$work/out" >&2
  exit 1
}
# Every command that ran is a line of the file `ran`; expect CODE "WHAT RAN" WORDS...
expect() {
  local wanted=$1 ran=$2 code=0 did
  shift 2
  : >ran
  "$larder" build "$@" >out 2>&1 || code=$?
  [ "$code" -eq "$wanted" ] || fail "exit $code, not $wanted"
  did=$(sort ran | tr '\n' ' ')
  [ "${did% }" = "$ran" ] || fail "ran '${did% }', not '$ran'"
}
# Rule `r` copies its inputs together and says so; `t` strips comments, so that its output can come out the same.
begin() {
  scenario=$1
  work=$top/work
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
}

begin "37, 45: times do not count" <<'END'
build x: r a b
build y: r x
END
expect 0 "x y"
expect 0 ""
touch a x
expect 0 ""
touch -d '2001-01-01' a b x y
expect 0 ""

begin "35: edits at once, twenty times" <<'END'
build x: r a
END
for i in $(seq 20); do
  echo "$i" >a
  expect 0 "x"
  [ "$(cat x)" = "$i" ] || fail "x is stale at $i"
done

begin "36: same size, same time, other content" <<'END'
build x: r a
END
touch -d '2020-02-02' a
expect 0 "x"
echo ONE >a
touch -d '2020-02-02' a
expect 0 "x"

begin "cut-off without help from the rule" <<'END'
build x: t a
build y: r x
build z: r y
END
expect 0 "x y z"
echo '# a comment' >>a
expect 0 "x"
expect 0 ""
grep -q 'no work to do' out || fail "nothing is said"

begin "38: an input edited while its command runs" <<'END'
rule slow
  command = echo $out >>ran; cat $in >$out; [ -e once ] || { touch once; echo edited >a; }
build x: slow a
END
expect 0 "x x"
[ "$(cat x)" = edited ] || fail "x is stale"
expect 0 ""

begin "39, 55: a command that edits its own input each time" <<'END'
rule grow
  command = echo $out >>ran; echo more >>$in; cp $in $out
build x: grow a
END
expect 0 "x x x"
grep -q 'keeps changing' out || fail "nothing is said"
expect 0 "x x x"

begin "40: killed with a half-written output" <<'END'
rule half
  command = echo $out >>ran; cp a $out; echo half >>$out; [ -e go ] || kill -9 $$PPID; sleep 0; cp a $out
build x: half a
build y: r x
END
: >ran
"$larder" build >out 2>&1 && fail "it was not killed"
touch go
expect 0 "x y"
[ "$(cat y)" = one ] || fail "y holds a half"

begin "41: a command that fails after it wrote" <<'END'
rule bad
  command = echo $out >>ran; cp a $out; exit `cat b`
build x: bad a | b
END
echo 3 >b
expect 1 "x"
grep -q 'FAILED: \[code=3\] x' out || fail "the failure is not told"
expect 1 "x"
echo 0 >b
expect 0 "x"

begin "42: interrupted, no half is left and no child runs on" <<'END'
rule hang
  command = echo $out >>ran; echo half >$out; echo $$$$ >pid; while :; do sleep 1; done
build x: hang a
END
for signal in INT TERM HUP; do
  rm -f pid
  # A background job of a script ignores SIGINT; python gives it back.
  python3 -c 'import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
    "$larder" build >out 2>&1 &
  job=$!
  until [ -s pid ]; do :; done
  kill -$signal $job
  wait $job
  [ $? -eq 130 ] || fail "exit code after $signal"
  [ ! -e x ] || fail "a half is left after $signal"
  kill -0 "$(cat pid)" 2>/dev/null && fail "the command runs on after $signal"
done

begin "43: the log cut anywhere" <<'END'
build x: r a
build y: r x b
END
expect 0 "x y"
cp .larder/build.ninja.log whole
size=$(stat -c %s whole)
for at in $(seq 0 7 "$size"); do
  head -c "$at" whole >.larder/build.ninja.log
  "$larder" build >out 2>&1 || fail "cut at $at"
  cmp -s x a || fail "x is wrong, cut at $at"
  expect 0 ""
done

begin "44: the log cannot be written" <<'END'
build x: r a
END
mkdir -p .larder/build.ninja.log.new
expect 0 "x"
grep -q 'made again next time' out || fail "nothing is said"

begin "46: command, environment and program" <<'END'
flag = 1
rule p
  command = echo $out >>ran; ./tool $in >$out # $flag $$NAMED
build x: p a
END
printf '#!/bin/sh\ncat "$@"\n' >tool
chmod +x tool
expect 0 "x"
sed -i 's/flag = 1/flag = 2/' build.ninja
expect 0 "x"
TZ=elsewhere expect 0 "x"
expect 0 "x"
NAMED=1 expect 0 "x"
expect 0 "x"
UNNAMED=1 expect 0 ""
UNNAMED=1 expect 0 "x" --env UNNAMED
expect 0 "x"
printf '#!/bin/sh\ncat "$@"; echo new\n' >tool
expect 0 "x"

begin "47, 48: output deleted, output edited by hand" <<'END'
build x: r a
build y: r x
END
expect 0 "x y"
rm x
expect 0 "x"
echo mine >x
expect 0 "x"
expect 0 ""

begin "49: outputs that are links and directories" <<'END'
rule link
  command = echo $out >>ran; ln -sf a $out
rule dir
  command = echo $out >>ran; mkdir -p $out; touch $out/f
build x: link a
build d: dir a
END
expect 0 "d x"
expect 0 ""
touch d/g
expect 0 ""
rm x
expect 0 "x"

begin "50, 51: outputs of removed rules go, moved ones stay" <<'END'
build x: r a
build y: r b
build z: r b
build w: r b
END
expect 0 "w x y z"
echo mine >>w
cat >build.ninja <<'END'
rule r
  command = echo $out >>ran; cat $in >$out
build x: r a
build q | z: r b y
END
expect 0 "q"
[ -e x ] || fail "x is gone"
[ -e y ] || fail "y is a source now and must stay"
[ -e w ] || fail "w was edited by hand and must stay"
sed -i '$d' build.ninja
expect 0 ""
[ ! -e q ] || fail "q is left"

begin "50: an output whose rule is gone" <<'END'
build x: r a
build y: r b
END
expect 0 "x y"
sed -i '$d' build.ninja
expect 0 ""
[ ! -e y ] || fail "y is left"
[ -e x ] || fail "x is gone"

begin "52: a file becomes a directory" <<'END'
build x: r a
END
expect 0 "x"
rm a && mkdir a
expect 1 "x"
rmdir a && echo back >a
expect 0 "x"

begin "56: a declared output that was not made" <<'END'
rule none
  command = echo $out >>ran; :
build x: none a
END
expect 1 "x"
grep -q 'did not make x' out || fail "not told"
expect 1 "x"

begin "56: a task that makes nothing, as CMake and Meson write them" <<'END'
rule none
  command = echo $out >>ran; :
build x.util: none
build x: phony x.util
END
expect 0 "x.util" x
expect 0 "x.util" x

begin "56: a task is one that makes none of its outputs, and never did" <<'END'
rule half
  command = echo half >>ran; touch x1
rule some
  command = echo $out >>ran; [ ! -e want ] || touch $out
build x1 x2: half
build x: phony x1
build y.util: some
build y: phony y.util
END
expect 1 "half" x
grep -q 'did not make x2' out || fail "not told"
expect 0 "y.util" y
touch want
expect 0 "y.util" y
expect 0 "" y
rm want y.util
expect 1 "y.util" y

begin "56: ninja's tools, which CMake's targets clean and help ask for, make nothing" <<'END'
rule tool
  command = ./ninja -t targets $out
build help: tool
END
printf '#!/bin/sh\necho "$2 $3" >>ran\n' >ninja
chmod +x ninja
expect 0 "targets help" help
expect 0 "targets help" help

begin "a step that makes the manifest and wrote its output anew, the same, has something to say: CMake's lists of files" <<'END'
rule verify
  command = echo verify >>ran; ls src >now; cmp -s now list || touch globs
  generator = 1
  restat = 1
rule configure
  command = echo configure >>ran; ls src >list; touch globs; sed "s|^build all:.*|build all: phony $$(sed 's|.*|made/&|' list | paste -sd ' ')|" build.ninja >new; mv new build.ninja
  generator = 1
build always: phony
build globs: verify | always
build build.ninja: configure globs
rule copy
  command = echo $out >>ran; cp $in $out
build made/a: copy src/a
build made/b: copy src/b
build all: phony made/a
default all
END
mkdir src
echo a >src/a
ls src >list
touch globs
sleep 0.02
touch build.ninja
expect 0 "made/a verify"
expect 0 "verify"
echo b >src/b
sleep 0.02
expect 0 "configure made/b verify verify"
expect 0 "verify"
rm src/b
sleep 0.02
expect 0 "configure verify verify"
expect 0 "verify"

begin "57: two steps, one output" <<'END'
build x: r a
build x: r b
END
expect 2 ""
grep -q 'build.ninja:6:' out || fail "no place is told"

begin "58, 82: outside the root, blanks and newlines in names" <<'END'
build ../work-out$ side: r a$ b
END
echo ab >'a b'
expect 0 "../work-out side"
rm -f "../work-out side"

begin "54, 59: a directory that a step takes is the list of its names" <<'END'
rule list
  command = echo $out >>ran; ls src >$out
build x: list src
build y: r x
END
mkdir src
touch src/one src/two
expect 0 "x y"
echo content >src/one
expect 0 ""
touch src/three
expect 0 "x y"
rm src/two
expect 0 "x y"
mv src/one src/uno
expect 0 "x y"
mv src real
ln -s real src
expect 0 ""
mkdir other
ln -sfn other src
expect 0 "x y"
[ ! -s y ] || fail "y is stale"
rm src
mv real src
expect 0 "x y"
[ "$(paste -sd ' ' y)" = "three uno" ] || fail "y is stale"

begin "54: a directory that a depfile names" <<'END'
rule list
  command = echo $out >>ran; ls src >$out; echo "$out: src" >$out.d
  depfile = $out.d
build x: list a
END
mkdir src
sleep 0.05 # what a command discovers must be older than the command, or it runs again
expect 0 "x"
touch src/one
sleep 0.05
expect 0 "x"
expect 0 ""

begin "59: a glob of files that steps make" <<'END'
rule list
  command = echo $out >>ran; ls gen >$out
build gen/a: r a
build x: list gen || gen/a
END
mkdir gen
expect 0 "gen/a x"
expect 0 ""
echo 'build gen/b: r b' >>build.ninja
sed -i 's/|| gen.a/|| gen\/a gen\/b/' build.ninja
expect 0 "gen/b x"
[ "$(paste -sd ' ' x)" = "a b" ] || fail "x is stale"
sed -i '/^build gen.b/d; s/ gen.b//' build.ninja
expect 0 "x"
[ "$(cat x)" = a ] || fail "x is stale"

begin "59: a manifest that globs" <<'END'
rule glob
  command = echo $out >>ran; { cat head; for f in src/*; do echo "build made/$${f#src/}: r $$f"; done; } >$out
  generator = 1
build build.ninja: glob head | src
END
cp build.ninja head
mkdir src
echo 1 >src/one
expect 0 "build.ninja made/one"
echo 2 >src/two
expect 0 "build.ninja made/two"
rm src/one
expect 0 "build.ninja"
[ ! -e made/one ] || fail "made/one is left"
expect 0 ""

begin "60, 61: a header is removed, a generated header is found" <<'END'
rule cc
  command = echo $out >>ran; cat $in >$out; echo "$out: $in `cat $in`" >$out.d
  depfile = $out.d
  deps = gcc
build gen.h: r b
build x: cc list || gen.h
END
echo "gen.h old.h" >list
touch old.h
sleep 0.05 # what a command discovers must be older than the command, or it runs again
expect 0 "gen.h x"
[ ! -e x.d ] || fail "the depfile is left"
echo three >b
expect 0 "gen.h x"
rm old.h
echo gen.h >list
expect 0 "x"
expect 0 ""

begin "62: a discovered file whose step had not run" <<'END'
rule cc
  command = echo $out >>ran; cat $in >$out; cat gen.h >>$out 2>/dev/null; echo "$out: gen.h" >$out.d
  depfile = $out.d
build x: cc a
build gen.h: r b
END
expect 0 "gen.h x x" -j1 x
[ "$(cat x)" = "$(printf 'one\ntwo')" ] || fail "x is stale"
expect 0 ""

begin "12: a cycle in old discoveries only" <<'END'
rule cc
  command = echo $out >>ran; cat $in >$out; echo "$out: `cat deps`" >$out.d
  depfile = $out.d
build x: cc a
build y: r b
END
echo y >deps
expect 0 "x x y" -j1 --no-trace
echo >deps
sed -i 's/^build y: r b/build y: r b x/' build.ninja
expect 0 "y" --no-trace
expect 0 "x" --no-trace
expect 0 "" --no-trace

begin "11: a cycle" <<'END'
build x: r y
build y: r x
END
expect 2 "" x
grep -q 'x -> y -> x\|y -> x -> y' out || fail "its path is not told"

begin "63: the manifest makes itself" <<'END'
rule gen
  command = echo $out >>ran; cp template $out
  generator = 1
build build.ninja: gen template
build x: r a
END
cp build.ninja template
expect 0 "build.ninja x"
sed -i 's/build x/build z/' template
expect 0 "build.ninja z"
[ ! -e x ] || fail "x is left"
expect 0 ""
echo 'build broken' >>template
expect 2 "build.ninja"
sed -i '$d' template
cp template build.ninja
expect 0 ""

begin "64, 65: keep going" <<'END'
rule bad
  command = echo $out >>ran; false
build p: bad a
build q: bad a
build s: bad a
build x: r a
build y: r p
END
expect 1 "p q s x" -k 0
expect 1 "p q" -k 2 -j 1 p q s

begin "67: two builds at once" <<'END'
rule slow
  command = echo $out >>ran; sleep 0.3; cat $in >$out
build x: slow a
END
: >ran
"$larder" build >out1 2>&1 &
first=$!
"$larder" build >out2 2>&1 || fail "the second"
wait $first || fail "the first"
[ "$(cat ran)" = x ] || fail "x was made twice"

# Its commands say when they begin and end, so that two at once would be seen.
begin "commands that outlive a killed build are waited for" <<'END'
rule slow
  command = echo begin >>ran; echo $$$$ >pid.new; mv pid.new pid; while [ ! -e go ]; do timeout 0.01 cat nothing; done; cat $in >$out; echo end >>ran
build x: slow a
END
mkfifo nothing
: >ran
"$larder" build --no-trace >out1 2>&1 &
first=$!
until [ -s pid ]; do :; done
kill -9 $first
wait $first 2>/dev/null
"$larder" build --no-trace >out 2>&1 &
second=$!
until grep -q "still run: .*$(cat pid) (sh).*begins when they have ended" out; do kill -0 $second || fail "it does not wait"; done
[ "$(cat ran)" = begin ] || fail "it began"
echo later >a
touch go
wait $second || fail "exit $?"
[ "$(paste -sd ' ' ran)" = "begin end begin end" ] || fail "$(paste -sd ' ' ran)"
[ "$(cat x)" = later ] || fail "x is stale"
[ ! -e .larder/commands ] || fail "a mark is left"
expect 0 "" --no-trace

begin "commands that outlive a killed build and do not end: it says who they are, and runs nothing" <<'END'
rule stay
  command = echo $out >>ran; [ -e go ] || { echo $$$$ >pid; kill -9 $$PPID; exec sleep 1000; }; cat $in >$out
build x: stay a
END
"$larder" build --no-trace >out 2>&1
LD_PRELOAD=$odd_system LARDER_TEST_HASTE=300 expect 2 "" --no-trace
grep -q "kill $(cat pid)\$" out || fail "no advice"
[ "$(grep -c 'still run' out)" -eq 2 ] || fail "not told, or too often"
: >out # what the build before said is not what this one says
"$larder" build --no-trace >out 2>&1 &
second=$!
until grep -q 'still run' out; do kill -0 $second || fail "it does not wait"; done
kill -TERM $second
wait $second
[ $? -eq 130 ] || fail "not interrupted"
kill "$(cat pid)"
touch go
expect 0 "x" --no-trace

begin "servers that commands start outlive builds, killed or not" <<'END'
rule serve
  command = echo $out >>ran; rm -f server; setsid sh -c 'echo $$$$ >server; exec sleep 1000' </dev/null >/dev/null 2>&1 & until [ -s server ]; do :; done; cat $in >$out; [ -e go ] || kill -9 $$PPID
build x: serve a
END
touch go
expect 0 "x" --no-trace
cp server earlier
echo more >>a
expect 0 "x" --no-trace
! grep -q 'still run' out || fail "it waited for a server"
rm go
echo more >>a
kill "$(cat server)" "$(cat earlier)"
"$larder" build --no-trace >out 2>&1
touch go
cp server earlier
LD_PRELOAD=$odd_system LARDER_TEST_HASTE=30 expect 0 "x" --no-trace
grep -q "left alone, .*: [0-9]* (sleep)" out || fail "not told"
kill "$(cat server)"
expect 0 "x" --no-trace # LD_PRELOAD decides
! grep -q 'still run' out || fail "it waited again"
kill "$(cat server)"
kill "$(cat earlier)"

begin "69: moved elsewhere" <<'END'
build x: r a
END
expect 0 "x"
mkdir "$top/moved" && cp -a . "$top/moved" && cd "$top/moved" || exit 2
expect 0 "x"
cd "$work" || exit 2
rm -rf "$top/moved"

begin "70: pools and the console" <<'END'
pool one
  depth = 1
rule alone
  command = mkdir lock && sleep 0.05 && rmdir lock && echo $out >>ran && touch $out
  pool = one
rule talk
  command = echo $out >>ran; [ -p /dev/stdout ] || [ -f /dev/stdout ] && echo loud && touch $out
  pool = console
build p: alone
build q: alone
build s: alone
build c: talk
END
expect 0 "c p q s" -j 8
grep -q loud out || fail "the console is silent"

begin "70: a jobserver gives no more than it has" <<'END'
rule one
  command = mkdir lock && sleep 0.05 && rmdir lock && echo $out >>ran && touch $out
build p: one
build q: one
build s: one
END
mkfifo tokens
exec 9<>tokens
MAKEFLAGS="--jobserver-auth=fifo:tokens" expect 0 "p q s"
rm -rf p q s lock
printf + >&9
MAKEFLAGS="--jobserver-auth=fifo:tokens" "$larder" build >out 2>&1 && fail "two jobs did not run at once"
rmdir lock 2>/dev/null
IFS= read -r -n 1 -t 1 token <&9 || fail "the token did not come back"
[ "$token" = + ] || fail "another token came back"
exec 9>&-

# Each says when it begins and ends; with a second one at work it waits for that.
begin "71: nothing starts beside the first while memory is short" <<'END'
rule s
  command = echo begin >>when; sleep 0.1; echo end >>when; echo $out >>ran; touch $out
rule meet
  command = touch $out.here; for i in $$(seq 1000); do [ -e $other.here ] && break; sleep 0.01; done; [ -e $other.here ] && echo $out >>ran && touch $out
build p: s
build q: s
build v: meet
  other = w
build w: meet
  other = v
END
printf 'MemTotal: 4000000 kB\nMemAvailable: 1048575 kB\n' >memory
LD_PRELOAD=$odd_system LARDER_TEST_MEMORY=memory expect 0 "p q" -j 3 --memory 1GiB p q
[ "$(paste -sd ' ' when)" = "begin end begin end" ] || fail "two at once: $(paste -sd ' ' when)"
printf 'MemTotal: 4000000 kB\nMemAvailable: 1048576 kB\n' >memory
LD_PRELOAD=$odd_system LARDER_TEST_MEMORY=memory expect 0 "v w" -j 2 --memory 1GiB --no-trace v w
expect 2 "" --memory lots
grep -q 'write --memory 2GiB' out || fail "no advice"

begin "72: long commands through a response file, binary output" <<'END'
rule big
  command = echo $out >>ran; cp args $out; printf '\377\000\001'
  rspfile = args
  rspfile_content = $in_newline
END
{
  printf 'build x: big'
  for i in $(seq 20000); do printf ' in/%050d' "$i"; done
  echo
} >>build.ninja
mkdir in
sed -n '$p' build.ninja | tr ' ' '\n' | grep '^in/' | xargs touch
expect 0 "x"
[ "$(wc -l <x)" -ge 19999 ] || fail "the response file was cut"
[ ! -e args ] || fail "the response file is left"
expect 0 ""

begin "80: explained" <<'END'
build x: r a
END
expect 0 "x" -d explain
grep -q 'x is missing' out || fail "why it was made first"
echo more >>a
expect 0 "x" -d explain
grep -Eq 'explain: x runs: a changed \([0-9a-f]{12} -> [0-9a-f]{12}\)' out || fail "why it was made again"

begin "81: a dry run says what the next one does" <<'END'
build x: r a
build y: r x
build z: r b
END
expect 0 "x y z"
echo more >>a
expect 0 "" -n -v
grep -q 'cat a >x' out || fail "x is not told"
grep -q 'cat b >z' out && fail "z is told"
expect 0 "x y"

begin "dyndep: outputs and inputs that are known late" <<'END'
rule dd
  command = echo $out >>ran; cp dd.in $out
rule two
  command = echo $out >>ran; cat $in >$out; cp gen side
build x: two a || dd
  dyndep = dd
build y: r a || dd
  dyndep = dd
build dd: dd dd.in
build gen: r b
END
printf 'ninja_dyndep_version = 1\nbuild x | side: dyndep | gen\nbuild y: dyndep | side\n' >dd.in
expect 0 "dd gen x y"
expect 0 ""
echo three >b
expect 0 "gen x y"
[ "$(cat side)" = three ] || fail "side is stale"

# An empty output says that its step ran and no more: whoever takes it reads what is behind it. A trace would see that.
begin "what takes an empty output runs when what that was made of changed" <<'END'
rule stamp
  command = echo $out >>ran; cp a beside; : >$out
rule read
  command = echo $out >>ran; cat beside >$out
build stamp: stamp a
build of_stamp: stamp stamp
build group: phony of_stamp
build x: read | group
END
expect 0 "of_stamp stamp x" --no-trace
expect 0 "" --no-trace
touch stamp of_stamp x a
expect 0 "" --no-trace
echo two >a
expect 0 "of_stamp stamp x" --no-trace
[ "$(cat x)" = two ] || fail "x is stale"
expect 0 "" --no-trace
rm stamp
expect 0 "stamp" --no-trace
expect 0 "" --no-trace

begin "a thin archive is what its members are" <<'END'
rule archive
  command = echo $out >>ran; rm -f $out; ar crDT $out $in
rule read
  command = echo $out >>ran; ar p $in >$out
build sub/a: r a
build sub/b: r b
build lib.a: archive sub/a sub/b
build x: read lib.a
END
expect 0 "lib.a sub/a sub/b x"
expect 0 ""
cp lib.a before
echo ONE >a
expect 0 "lib.a sub/a x"
cmp lib.a before || fail "the archive holds more than names"
[ "$(head -n 1 x)" = ONE ] || fail "x is stale"
touch lib.a sub/a
expect 0 ""

begin "validations run, and hold nothing up" <<'END'
rule bad
  command = echo $out >>ran; false
build x: r a |@ check
build check: bad x
END
expect 1 "check x" x
[ -e x ] || fail "x was not made"

begin "a step that runs at every build" <<'END'
build always: phony
build x: t a always
build y: r x
END
sed -i 's/grep -v .^#. $in/cat a/' build.ninja
expect 0 "x y"
expect 0 "x"

begin "order-only inputs come first and change nothing" <<'END'
build x: r a || b2
build b2: r b
END
expect 0 "b2 x" -j1
echo three >b
expect 0 "b2"

begin "a missing source is told" <<'END'
build x: r nothing
END
expect 2 ""
grep -q 'nothing, needed by x, is missing and no step makes it' out || fail "not told"
expect 2 "" nowhere
grep -q 'there is no target nowhere' out || fail "not told"

begin "85: after any edits, as from nothing" <<'END'
build x: t a
build y: r x b
build z: t y
build w: r z x
END
expect 0 "w x y z"
seed=7
for round in $(seq 30); do
  seed=$((seed * 1103515245 % 2147483648 + 12345))
  case $((seed / 65536 % 6)) in
  0) echo "$round" >>a ;;
  1) echo "# $round" >>a ;;
  2) echo "$round" >b ;;
  3) rm -f y ;;
  4) echo mine >z ;;
  5) touch a b x ;;
  esac
  "$larder" build >out 2>&1 || fail "round $round"
  mkdir clean && cp a b build.ninja clean && (cd clean && "$larder" build >/dev/null) || fail "clean round $round"
  for file in x y z w; do cmp -s $file clean/$file || fail "$file differs in round $round"; done
  rm -rf clean
done

begin "84: steps that do not come out the same twice are told" <<'END'
rule now
  command = echo $out >>ran; date +%N >$out
rule sly
  command = echo $out >>ran; cat a undeclared >$out
build x: r a
build y: now x
build z: t y
build w: sly a
END
echo 1 >undeclared
expect 0 "w x y z" --no-trace x y z w
expect 1 "w x y z" --no-trace --check
grep -Eq 'not the same twice: y \([0-9a-f]{12} -> [0-9a-f]{12}\)' out || fail "y is not told"
[ "$(grep -c 'not the same twice' out)" -eq 1 ] || fail "others are told: z reads another y"
echo 2 >undeclared
expect 1 "w" --no-trace --check w
grep -q 'not the same twice: w' out || fail "w is not told"
echo more >>a
expect 0 "x x" --no-trace --check x
grep -q 'every step comes out the same' out || fail "not told"
expect 0 "w y z" --no-trace

begin "tools" <<'END'
build x: r a
build y: r x
END
expect 0 "x y"
"$larder" build -t targets all >out 2>&1 && grep -q '^x: r$' out || fail "targets"
"$larder" build -t query x >out 2>&1 && grep -q '^    y$' out || fail "query"
"$larder" build -t commands y >out 2>&1 && [ "$(wc -l <out)" -eq 2 ] || fail "commands"
"$larder" build -t compdb >out 2>&1 && python3 -c 'import json; assert len(json.load(open("out"))) == 2' || fail "compdb"
"$larder" build -t graph >out 2>&1 && [ "$(grep -c 'label="' out)" -eq 5 ] || fail "graph"
"$larder" build -t clean -n >out 2>&1 && [ -e x ] || fail "clean -n removed something"
"$larder" build -t clean >out 2>&1 && [ ! -e x ] && [ ! -e y ] && [ -e a ] || fail "clean"
"$larder" build -t deps x >out 2>&1 || fail "deps"
expect 0 "x y"

begin "-C and -f" <<'END'
build x: r a
END
expect 2 "" -f none.ninja
grep -q "open none.ninja in $work: there is no such file" out && grep -q '^  why: .*manifest' out &&
  grep -q '^  try: .*-C .*-f' out || fail "a manifest that is missing is not explained"
mkdir sub && mv a build.ninja sub/ && mv sub/build.ninja sub/other.ninja
"$larder" build -C sub -f other.ninja >out 2>&1 || fail "-C"
grep -q 'Entering directory' out || fail "the directory is not told"
[ -e sub/x ] || fail "x is not made"


begin "the log's disk is full after any byte: what is built is right, and is built again" <<'END'
build x: t a
build y: r x b
END
for room in 0 1 20 30 60 100 150 200 250 300 400 500; do
  rm -rf .larder x y
  echo one >a
  LD_PRELOAD=$odd_system LARDER_TEST_ROOM=$room expect 0 "x y"
  grep -q 'warning: what is made will be made again' out || [ "$room" -gt 200 ] || fail "room for $room bytes: no warning"
  [ "$(cat y)" = "$(printf 'one\ntwo')" ] || fail "room for $room bytes: wrong output"
  # The log knows an older run, or none, than the one that made what is there.
  "$larder" build --quiet >out 2>&1 || fail "room for $room bytes: not built after it"
  expect 0 ""
  echo other >a
  LD_PRELOAD=$odd_system LARDER_TEST_ROOM=$room "$larder" build --quiet >out 2>&1 || fail "room for $room bytes: not built"
  echo one >a
  "$larder" build --quiet >out 2>&1 || fail "room for $room bytes: not built after it"
  [ "$(cat y)" = "$(printf 'one\ntwo')" ] || fail "room for $room bytes: stale"
done

# Each says when it begins and ends; with a second one at work it waits for that.
begin "-l: nothing starts above a load but the first" <<'END'
rule s
  command = echo begin >>when; sleep 0.1; echo end >>when; echo $out >>ran; touch $out
rule meet
  command = touch $out.here; for i in $$(seq 1000); do [ -e $other.here ] && break; sleep 0.01; done; [ -e $other.here ] && echo $out >>ran && touch $out
build p: s
build q: s
build u: s
build v: meet
  other = w
build w: meet
  other = v
END
LD_PRELOAD=$odd_system LARDER_TEST_LOAD=9 expect 0 "p q u" -j 3 -l 8.5 p q u
[ "$(paste -sd ' ' when)" = "begin end begin end begin end" ] || fail "two at once above the load: $(paste -sd ' ' when)"
LD_PRELOAD=$odd_system LARDER_TEST_LOAD=8 expect 0 "v w" --no-trace -j 2 -l 8.5 v w

echo "every scenario holds"
