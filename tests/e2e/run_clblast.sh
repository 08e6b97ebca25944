#!/bin/bash
# CLBlast's own test of a routine, unmodified, on PoCL under `larder run`: same output cold and warm, the second
# start makes nothing, neither from the directory nor from entries alone, and what is stored is what runs.
# Usage: run_clblast.sh LARDER
set -u
larder=$1
program=clblast_test_xaxpybatched
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
unset POCL_CACHE_DIR LARDER_DISABLE
cd "$work" || exit 2
command -v $program >/dev/null || { echo "skipped: $program is not installed" >&2; exit 77; }
mkdir icd
for driver in /etc/OpenCL/vendors/pocl*.icd; do
  [ -e "$driver" ] && cp "$driver" icd/
done
[ -n "$(ls icd)" ] || { echo "skipped: no PoCL here" >&2; exit 77; }
export OCL_ICD_VENDORS=$work/icd

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
# pocl NUMBER-BEFORE-WORDS: that number of the report's line on programs.
pocl() { sed -n "s/^larder: pocl: .*[^0-9]\([0-9][0-9]*\) $1.*/\1/p" report; }
run() { "$larder" run --report -- $program >"$1" 2>report || fail "$1: $(tail -n 20 "$1" report)"; }

run cold
grep -q 'larder: pocl: \([0-9]*\) programs asked, 0 hits' report || fail "cold: $(cat report)"
made=$(pocl made)
[ "$made" -ge 4 ] || fail "cold, and $made programs were made: $(cat report)"
! grep -q 'could not be kept' report || fail "not all was kept: $(cat report)"

run warm
cmp cold warm || fail "the warm output differs"
[ "$(pocl made)" -eq 0 ] || fail "the second start made something: $(cat report)"
grep -q "larder: pocl: $made programs asked, $made hits ($made there)" report || fail "warm: $(cat report)"

rm -rf store/adopted
run entries
cmp cold entries || fail "the output from entries differs"
grep -q "larder: pocl: $made programs asked, $made hits ($made from disk), 0 made" report || fail "entries: $(cat report)"
"$larder" stats --json >counts || fail "no counts"
grep -q "\"hits\":[1-9]" counts || fail "no hits are counted: $(head -c 400 counts)"

# With the machine code of one program in another's place the results are wrong.
grep -q 'passed' cold || fail "no results: $(tail -n 5 cold)"
mapfile -t codes < <(find store/adopted -name 'XaxpyBatched.so' -size +0 | sort)
[ "${#codes[@]}" -ge 2 ] || fail "no two kernels to exchange"
cp "${codes[0]}" kept.so
for code in "${codes[@]:1}"; do cp "${codes[0]}" "$code"; done
"$larder" run -- $program >other 2>/dev/null
cmp -s cold other && fail "substituted machine code changes nothing"
echo "$program: $made programs made at the first start, none at the second, nor from entries alone"
