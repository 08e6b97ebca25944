#!/bin/bash
# `larder run` around programs: a second start compiles nothing, and whatever is broken, the program runs as it
# would without. Usage: run_test.sh LARDER SOURCE [OPENCL_PROGRAM]
set -u
larder=$1
source=$2
program=${3:-}
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
unset POCL_CACHE_DIR OCL_ICD_VENDORS
cd "$work" || exit 2

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# The program's words, input, output and exit code are its own.
[ "$("$larder" run -- printf '%s|' a -- --report -x)" = "a|--|--report|-x|" ] || fail "words are changed"
[ "$(echo in | "$larder" run -- cat)" = in ] || fail "no input"
"$larder" run -- sh -c 'exit 7' && fail "exit code 7 became 0"
"$larder" run -- sh -c 'exit 7'
[ $? -eq 7 ] || fail "exit code 7 is lost"
"$larder" run -- sh -c 'kill -TERM $$'
[ $? -eq 143 ] || fail "a signal is lost"
"$larder" run -- /nowhere/program 2>err
[ $? -eq 127 ] || fail "a missing program is not told"
grep -q '/nowhere/program' err || fail "which program is missing is not told"
"$larder" run -- /etc/passwd 2>err
[ $? -eq 126 ] || fail "what cannot be executed is not told"
"$larder" run 2>err
[ $? -eq 2 ] || fail "no command, and no complaint"
[ -z "$(LARDER_DISABLE=1 "$larder" run -- printenv POCL_CACHE_DIR)" ] || fail "LARDER_DISABLE=1 changes something"
[ "$(POCL_CACHE_DIR=/mine "$larder" run -- printenv POCL_CACHE_DIR)" = /mine ] || fail "the user's own choice is changed"

# A request to end reaches the program.
mkfifo ready
# shellcheck disable=SC2016 # for the inner shell
"$larder" run -- bash -c 'trap "kill \$!; echo told; exit 5" TERM; sleep 60 & echo >ready; wait' >told &
runner=$!
read -r _ <ready
kill -TERM $runner
wait $runner
[ $? -eq 5 ] || fail "the program was not told to end"
grep -q told told || fail "the program did not hear SIGTERM"

# From here on with a real driver.
[ -n "$program" ] || { echo "larder run behaves; skipped the driver: the test program was not built" >&2; exit 77; }
mkdir plain
POCL_CACHE_DIR=$work/plain "$program" >expected
[ $? -ne 77 ] || { echo "skipped: no OpenCL platform here" >&2; exit 77; }
"$larder" run --report -- true 2>err
grep -q '^larder: pocl: .* files there' err || { cat err; echo "skipped: no PoCL here" >&2; exit 77; }

number() { sed -n "s/^larder: pocl: \(.* \|\)\([0-9]*\) $1.*/\2/p" err; }
run() {
  "$larder" run --report -- "$program" >out 2>err || fail "the program failed: $(cat out err)"
  cmp -s out expected || fail "other output: $(cat out) instead of $(cat expected)"
}
run
[ "$(number 'taken in')" -ge 3 ] || fail "nothing was taken in: $(cat err)"
run
[ "$(number 'taken in')" -eq 0 ] || fail "the second start compiled: $(cat err)"
[ "$(number 'files there')" -ge 3 ] || fail "the second start found nothing: $(cat err)"
# Out of the entries alone, as on another machine.
rm -rf store/adopted
run
[ "$(number laid)" -ge 3 ] || fail "nothing was laid: $(cat err)"
[ "$(number 'taken in')" -eq 0 ] || fail "a start from entries compiled: $(cat err)"

# What the driver loads is what was laid: with the kernel of another program in its place the sum is wrong.
mkdir -p other/cache
sed 's/2 \* a/5 * a/' "$source" >other.c
if cc -w other.c -o other/program -lOpenCL 2>/dev/null || cc -w other.c -o other/program -l:libOpenCL.so.1 2>/dev/null; then
  POCL_CACHE_DIR=$work/other/cache other/program >other/out || fail "the other program fails"
  cp "$(find other/cache -name twice.so)" "$(find store/adopted -name twice.so)"
  "$larder" run -- "$program" >out || fail "the program failed"
  cmp -s out other/out || fail "a substituted kernel changes nothing: $(cat out)"
fi

# A store that is broken in any way changes nothing for the program.
LARDER_DIR=/proc/nothing run
find store/v1 -type f -path '*v1/??/*' -exec sh -c 'for f; do head -c 100 "$f" >"$f.x"; mv "$f.x" "$f"; done' sh {} +
rm -rf store/adopted
run
echo "larder run behaves"
