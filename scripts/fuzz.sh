#!/bin/sh
# Runs every fuzz target of a build for some seconds on its committed corpus. Usage: scripts/fuzz.sh BUILD SECONDS
set -eu
cd "$(dirname "$0")/.."
build=$1
seconds=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
ran=0
for target in "$build"/fuzz/*_fuzz; do
  [ -x "$target" ] || continue
  name=$(basename "$target")
  corpus=fuzz/corpus/${name%_fuzz}
  mkdir -p "$scratch/$name"
  echo "fuzz: $name for $seconds s"
  if ! "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$build/" "$scratch/$name" "$corpus" >"$scratch/$name.log" 2>&1; then
    tail -n 40 "$scratch/$name.log" >&2
    echo "fuzz: $name found a failure; its input is kept in $build/" >&2
    exit 1
  fi
  grep 'number_of_executed_units' "$scratch/$name.log"
  ran=$((ran + 1))
done
if [ "$ran" -eq 0 ]; then
  echo "fuzz: no target was built in $build/fuzz" >&2
  exit 1
fi
echo "fuzz: $ran targets, nothing found"
