#!/bin/sh
# Runs every benchmark of a built preset `bench`; what they say is kept under build/bench/results.
# Usage: bench/run.sh [--quick]. Exit status: 0 every bar met, 1 some bar not met, 2 something could not run.
set -u
cd "$(dirname "$0")/.." || exit 2
build=build/bench
results=$build/results
quick=
case ${1-} in
'') ;;
--quick) quick=--quick ;;
*)
  echo "usage: bench/run.sh [--quick]" >&2
  exit 2
  ;;
esac
mkdir -p "$results"
python3 bench/machine.py | tee "$results/machine.txt"

worst=0
note() {
  if [ "$1" -gt "$worst" ]; then worst=$1; fi
}

# A folder's own driver knows its options: run.py --results FOLDER [--quick].
for driver in bench/*/run.py; do
  echo
  echo "== $driver"
  python3 "$driver" --build "$build" --results "$results" $quick
  note $?
done

# Google Benchmark programs have no bars; their figures are kept as they come.
for program in "$build"/bench/*_bench; do
  [ -x "$program" ] || continue
  echo
  echo "== $program"
  "$program" --benchmark_out="$results/$(basename "$program").json" --benchmark_out_format=json \
    --benchmark_min_time="$([ -n "$quick" ] && echo 0.01 || echo 0.5)" || note 2
done

echo
echo "results are in $results"
exit "$worst"
