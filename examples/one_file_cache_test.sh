#!/bin/sh
# The example tells what happened to its file: made, hit, changed, damaged, forgotten directory.
# Usage: one_file_cache_test.sh ONE_FILE_CACHE
set -eu
program=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# says WORDS ARGUMENTS...: the program runs and its output holds the words.
says() {
  words=$1
  shift
  "$program" --steps 1 "$@" >"$place/out" 2>&1 || { cat "$place/out" >&2; exit 1; }
  grep -q "$words" "$place/out" || { echo "FAIL: no '$words' in:" >&2; cat "$place/out" >&2; exit 1; }
}
one() { says "$1" --cache "$place/app.cache" --stages "${2:-2}"; }

says 'result' --stages 2
[ "$(ls "$place")" = out ] || { echo "FAIL: a file was made without being asked for" >&2; exit 1; }
one 'because absent'
one 'cache: hit'
one 'because other_recipe' 3
one 'cache: hit' 3
one 'because other_recipe'
head -c 5000 "$place/app.cache" >"$place/cut" && cat "$place/cut" >"$place/app.cache"
one 'because truncated'
one 'cache: hit'
says 'because unreadable' --cache "$place/forgotten/app.cache" --stages 2
grep -q 'does not exist; make it' "$place/out" || { echo "FAIL: the forgotten directory is not named" >&2; exit 1; }
left=$(find "$place" -mindepth 1 -printf '%f\n' | sort | tr '\n' ' ')
[ "$left" = 'app.cache cut out ' ] || { echo "FAIL: leavings: $left" >&2; exit 1; }
echo "the example behaves"
