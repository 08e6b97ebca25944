#!/bin/bash
# Mesa's own cache under `larder run`: a second start makes nothing, neither from the directory nor from entries
# alone, and a damaged file is Mesa's to refuse. Usage: run_mesa.sh LARDER PROGRAM
set -u
larder=$1
program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
unset MESA_SHADER_CACHE_DIR MESA_SHADER_CACHE_DISABLE MESA_GLSL_CACHE_DIR MESA_GLSL_CACHE_DISABLE LARDER_DISABLE
unset MESA_DISK_CACHE_SINGLE_FILE MESA_DISK_CACHE_DATABASE
export LIBGL_ALWAYS_SOFTWARE=1
cd "$work" || exit 2

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
code=0
MESA_SHADER_CACHE_DIR=$work/plain "$program" >expected || code=$?
[ $code -ne 77 ] || { echo "skipped: no EGL without a screen here" >&2; exit 77; }
[ $code -eq 0 ] || fail "the program fails by itself: $code"
[ -d plain/mesa_shader_cache ] || { echo "skipped: this Mesa does not keep many files" >&2; exit 77; }

run() {
  "$larder" run --report -- "$program" >out 2>report || fail "the program failed: $(cat out report)"
  cmp -s out expected || fail "other output: $(cat out), not $(cat expected)"
}
number() { sed -n "s/^larder: mesa: .*[^0-9]\([0-9][0-9]*\) $1.*/\1/p" report; }
run
made=$(number made)
[ "$made" -ge 1 ] || fail "nothing was made: $(cat report)"
[ "$(number 'taken in')" -eq "$made" ] || fail "not all was taken in: $(cat report)"
run
[ "$(number made)" -eq 0 ] || fail "the second start made something: $(cat report)"
[ "$(number there)" -ge 1 ] || fail "the second start found nothing: $(cat report)"
rm -rf store/adopted
run
[ "$(number made)" -eq 0 ] || fail "a start from entries made something: $(cat report)"
[ "$(number 'from disk')" -ge 1 ] || fail "a start from entries used none: $(cat report)"
# Whatever lies in the directory, the program draws the same.
find store/adopted -path '*mesa_shader_cache/??/*' -type f | while read -r file; do
  printf 'XXXX' | dd of="$file" bs=1 seek=200 conv=notrunc 2>/dev/null
done
run
MESA_DISK_CACHE_SINGLE_FILE=1 "$larder" run --report -- "$program" >out 2>report || fail "with a single file"
cmp -s out expected || fail "other output with a single file"
grep -q 'mesa: MESA_DISK_CACHE_SINGLE_FILE is set' report || fail "not said: $(cat report)"
echo "Mesa: $made files made at the first start, none at the second, nor from entries alone"
