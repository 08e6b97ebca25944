#!/bin/bash
# make demo: a program of Debian's that compiles OpenCL kernels at every start, without and with larder; then one
# program with one cache file. Usage: scripts/demo.sh BUILD_DIR
# LARDER_DEMO_PROGRAM names another OpenCL program.
set -eu
build=$(cd "$1" && pwd)
larder=$build/tool/larder
program=${LARDER_DEMO_PROGRAM:-clblast_test_xaxpybatched}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/larder
unset POCL_CACHE_DIR LARDER_DISABLE
mkdir "$work/icd"
# Other drivers of this machine stay out of it.
cp /etc/OpenCL/vendors/pocl*.icd "$work/icd/" || { echo "demo: no PoCL here" >&2; exit 2; }
export OCL_ICD_VENDORS=$work/icd
cd "$work"

# timed NAME COMMAND...: leaves wall and processor seconds in NAME.wall and NAME.cpu, and the output in NAME.out.
timed() {
  local name=$1
  shift
  local TIMEFORMAT='%R %U %S'
  { time "$@" >"$name.out" 2>"$name.err" || { cat "$name.out" "$name.err" >&3; exit 1; }; } 3>&2 2>"$name.time"
  awk '{print $1}' "$name.time" >"$name.wall"
  awk '{print $2 + $3}' "$name.time" >"$name.cpu"
}
line() { printf '  %-42s %8.2f s %8.2f s\n' "$1" "$(cat "$2.wall")" "$(cat "$2.cpu")"; }
factor() { awk -v a="$(cat cold."$1")" -v b="$(cat "$2.$1")" 'BEGIN {printf "%.1f", a / (b > 0 ? b : 0.01)}'; }

echo "1. $program, from Debian, unmodified: an OpenCL program that compiles its kernels at run time (PoCL)"
echo
mkdir own
export POCL_CACHE_DIR=$work/own
timed fill "$program"
timed own "$program"
unset POCL_CACHE_DIR
timed cold "$larder" run --report -- "$program"
timed warm "$larder" run --report -- "$program"
rm -rf "$LARDER_DIR/adopted"
timed entries "$larder" run --report -- "$program"
for other in warm entries; do
  cmp -s cold.out $other.out || { echo "demo: the outputs differ" >&2; exit 1; }
done
printf '  %-42s %10s %10s\n' "" wall processor
line "cold, under larder run" cold
line "warm, under larder run" warm
line "warm, from larder's entries alone" entries
line "warm, by the driver's own cache" own
echo
echo "  $(factor wall warm) times faster (wall), $(factor cpu warm) times less processor time; the output is the same"
echo "  What the driver keeps by itself is as fast: larder adds bounds, checks and sharing to it."
echo
grep -h 'programs asked' cold.err warm.err entries.err | sed '/ 0 programs asked/d;s/^larder: /  /'
echo
echo "larder stats"
"$larder" stats | sed -n '1,/^binary size/{/^binary size/d;s/^/  /;p}'

echo "2. One program, one file: the cache of a guest (examples/one_file_cache.c)"
echo
"$build/examples/one_file_cache" --cache "$work/app.cache" --stages 24 | sed 's/^/  /'
echo
"$build/examples/one_file_cache" --cache "$work/app.cache" --stages 24 | sed 's/^/  /'
