#!/bin/bash
# Processes of one OpenCL program, started at once on an empty store under `larder run`, with PoCL: whatever the driver
# compiles is compiled once, also when a process is killed on the way, and one that hangs holds the others up for a
# bounded time. Usage: run_at_once.sh LARDER PROGRAM COUNTED_RENAMES_C
set -u
larder=$1
program=$2
counting=$3
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/runtime LARDER_DIR=$work/store
export COUNTED_RENAMES=$work/renames
unset POCL_CACHE_DIR OCL_ICD_VENDORS LARDER_DISABLE OPENCL_LAYERS LD_PRELOAD HANG_AT
cd "$work" || exit 2
mkdir -m 700 runtime

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
cc -O1 -w -shared -fPIC "$counting" -o counting.so -ldl || fail "what counts does not build"
mkdir plain
POCL_CACHE_DIR=$work/plain "$program" >expected
[ $? -ne 77 ] || { echo "skipped: no OpenCL platform here" >&2; exit 77; }
"$larder" run --report -- true 2>err
grep -q '^larder: pocl: .* files there' err || { cat err; echo "skipped: no PoCL here" >&2; exit 77; }
export LD_PRELOAD=$work/counting.so

# start COUNT WORDS: so many at once; who they are is in `pids`, what each says in out.N.
start() {
  local number
  pids=()
  for number in $(seq "$1"); do
    timeout -s KILL 200 "$larder" run "${@:2}" -- "$program" >"out.$number" 2>"err.$number" &
    pids+=($!)
  done
}
end() {
  local number=0 each
  for each in "${pids[@]}"; do
    number=$((number + 1))
    wait "$each" || fail "$1: one exits with $?: $(cat "err.$number")"
    cmp -s "out.$number" expected || fail "$1: other output: $(cat "out.$number")"
  done
}
afresh() {
  rm -rf "$work/store" "$work"/out.* "$COUNTED_RENAMES"
  : >"$COUNTED_RENAMES"
}
once() {
  local made
  made=$(wc -l <"$COUNTED_RENAMES")
  [ -z "$(sort "$COUNTED_RENAMES" | uniq -d)" ] || fail "$1: compiled more than once: $(sort "$COUNTED_RENAMES" | uniq -c)"
  [ "$made" -eq "$2" ] || fail "$1: $made files were compiled, not $2: $(cat "$COUNTED_RENAMES")"
}
# Starts a program that stops before it puts a file that ends with $1 in its place.
hang() {
  HANG_AT=$1 "$larder" run -- "$program" >/dev/null 2>&1 &
  runner=$!
  for _ in $(seq 1000); do
    hung=$(pgrep -P "$runner" | head -1)
    [ -n "$hung" ] && grep -q '^State:.*stopped' "/proc/$hung/status" 2>/dev/null && return
    sleep 0.02
  done
  fail "the program that is to hang at $1 does not"
}

# The program, its two kernels.
afresh
start 64
end "64 at once"
once "64 at once" 3
start 64
end "64 at once, warm"
once "64 at once, warm" 3

# Asked for binaries, PoCL compiles each kernel for any size as well.
afresh
start 16 --report --opencl-layer all
end "16 at once, kept"
once "16 at once, kept" 5
[ "$(cat err.* | grep -c 'opencl: 1 programs asked, 0 hits (1 made)')" -eq 1 ] || fail "the program was not made once: $(cat err.*)"

for at in program.bc thrice.so; do
  afresh
  hang "$at"
  start 8
  sleep 1
  kill -KILL "$hung"
  end "one was killed at $at"
  wait "$runner"
  once "one was killed at $at" 3
done

# Nobody waits for one that hangs for longer than 20 s, and nobody for the turns after it.
afresh
hang program.bc
begin=$SECONDS
start 4
end "one hangs"
[ $((SECONDS - begin)) -lt 60 ] || fail "one that hangs holds the others up for $((SECONDS - begin)) s"
kill -KILL "$hung"
wait "$runner"

# Without a place for locks, as ever.
afresh
export XDG_RUNTIME_DIR=/proc/none
start 2
end "no place for locks"
echo "each is compiled once"
