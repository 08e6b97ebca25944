#!/bin/sh
# Runs every fuzz target of a build for some seconds on its committed corpus, as many at once as there are processors.
# Usage: scripts/fuzz.sh BUILD SECONDS
set -eu
cd "$(dirname "$0")/.."
build=$1
seconds=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export build seconds scratch
# shellcheck disable=SC2016 # the inner shell expands it
one='
  name=$(basename "$1")
  mkdir -p "$scratch/$name"
  if ! "$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="$build/" "$scratch/$name" "fuzz/corpus/${name%_fuzz}" >"$scratch/$name.log" 2>&1; then
    tail -n 40 "$scratch/$name.log" >&2
    echo "fuzz: $name found a failure; its input is kept in $build/" >&2
    exit 1
  fi
  echo "fuzz: $name for $seconds s: $(sed -n "s/.*number_of_executed_units: //p" "$scratch/$name.log") runs"
'
ran=$(find "$build/fuzz" -maxdepth 1 -name '*_fuzz' -type f -perm -u+x | wc -l)
if [ "$ran" -eq 0 ]; then
  echo "fuzz: no target was built in $build/fuzz" >&2
  exit 1
fi
if ! find "$build/fuzz" -maxdepth 1 -name '*_fuzz' -type f -perm -u+x | sort |
    xargs -P "$(nproc)" -I{} sh -c "$one" sh {}; then
  exit 1
fi
echo "fuzz: $ran targets, nothing found"
