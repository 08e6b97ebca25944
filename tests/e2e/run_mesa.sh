#!/bin/bash
# Mesa's own cache under `larder run`: a second start makes nothing, neither from the directory nor from entries
# alone, and a damaged file is Mesa's to refuse. Usage: run_mesa.sh LARDER PROGRAM
set -u
larder=$1
program=$2
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
export LIBGL_ALWAYS_SOFTWARE=1

code=0
MESA_SHADER_CACHE_DIR=$work/plain "$program" >expected || code=$?
[ $code -ne 77 ] || skip "no EGL without a screen here"
[ $code -eq 0 ] || fail "the program fails by itself: $code"
[ -d plain/mesa_shader_cache ] || skip "this Mesa does not keep many files"

run() {
  "$larder" run --report -- "$program" >out 2>report || fail "the program failed: $(cat out report)"
  cmp -s out expected || fail "other output: $(cat out), not $(cat expected)"
}
run
made=$(number mesa made)
[ "$made" -ge 1 ] || fail "nothing was made: $(cat report)"
[ "$(number mesa 'taken in')" -eq "$made" ] || fail "not all was taken in: $(cat report)"
run
[ "$(number mesa made)" -eq 0 ] || fail "the second start made something: $(cat report)"
[ "$(number mesa there)" -ge 1 ] || fail "the second start found nothing: $(cat report)"
rm -rf store/adopted
run
[ "$(number mesa made)" -eq 0 ] || fail "a start from entries made something: $(cat report)"
[ "$(number mesa 'from disk')" -ge 1 ] || fail "a start from entries used none: $(cat report)"
# Whatever lies in the directory, the program draws the same.
find store/adopted -path '*mesa_shader_cache/??/*' -type f | while read -r file; do
  printf 'XXXX' | dd of="$file" bs=1 seek=200 conv=notrunc 2>/dev/null
done
run
MESA_DISK_CACHE_SINGLE_FILE=1 "$larder" run --report -- "$program" >out 2>report || fail "with a single file"
cmp -s out expected || fail "other output with a single file"
grep -q 'mesa: MESA_DISK_CACHE_SINGLE_FILE is set' report || fail "not said: $(cat report)"
echo "Mesa: $made files made at the first start, none at the second, nor from entries alone"
