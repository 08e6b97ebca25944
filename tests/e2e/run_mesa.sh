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
# Its layouts of two files: record by record, also where Mesa only reads what larder wrote.
for layout in MESA_DISK_CACHE_SINGLE_FILE MESA_DISK_CACHE_DATABASE; do
  export $layout=1
  rm -rf plain
  MESA_SHADER_CACHE_DIR=$work/plain "$program" >expected || fail "fails with $layout"
  [ -z "$(find plain -name '*foz_cache.foz' -o -name 'mesa_cache.db')" ] && unset $layout && continue
  run
  [ "$(number mesa made)" -eq "$made" ] || fail "$layout: not $made made: $(cat report)"
  [ "$(number mesa 'taken in')" -eq "$made" ] || fail "$layout: not all was taken in: $(cat report)"
  run
  [ "$(number mesa made)" -eq 0 ] || fail "$layout: the second start made something: $(cat report)"
  rm -rf store/adopted
  run
  [ "$(number mesa laid)" -eq "$made" ] || fail "$layout: not all was laid: $(cat report)"
  [ "$(number mesa made)" -eq 0 ] || fail "$layout: a start from entries made something: $(cat report)"
  # Whatever lies there, the program draws the same.
  find store/adopted -name '*.idx' -o -name '*_idx.foz' | while read -r file; do printf 'XXX' >>"$file"; done
  run
  unset $layout
done
export MESA_DISK_CACHE_READ_ONLY_FOZ_DBS=mine
run
grep -q 'mesa: MESA_DISK_CACHE_READ_ONLY_FOZ_DBS is set' report || fail "not said: $(cat report)"
echo "Mesa: $made files made at the first start, none at the second, nor from entries alone"
