#!/bin/bash
# CLBlast's own test of a routine, unmodified, on PoCL under `larder run`: same output cold and warm, the second
# start makes nothing, neither from the directory nor from entries alone, and what is stored is what runs.
# Usage: run_clblast.sh LARDER
set -u
larder=$1
program=clblast_test_xaxpybatched
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
command -v $program >/dev/null || skip "$program is not installed"
use_pocl
run() { "$larder" run --report -- $program >"$1" 2>report || fail "$1: $(tail -n 20 "$1" report)"; }

run cold
grep -q 'larder: pocl: \([0-9]*\) programs asked, 0 hits' report || fail "cold: $(cat report)"
made=$(number pocl made)
[ "$made" -ge 4 ] || fail "cold, and $made programs were made: $(cat report)"
! grep -q 'could not be kept' report || fail "not all was kept: $(cat report)"

run warm
cmp cold warm || fail "the warm output differs"
[ "$(number pocl made)" -eq 0 ] || fail "the second start made something: $(cat report)"
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
