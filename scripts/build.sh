#!/bin/sh
# Configures a preset once and builds what changed. Usage: scripts/build.sh PRESET [TARGET...]
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
log=build/$preset.configure.log
if [ ! -f "build/$preset/build.ninja" ]; then
  mkdir -p build
  echo "build: configuring $preset"
  if ! cmake --preset "$preset" >"$log" 2>&1; then
    cat "$log" >&2
    echo "build: configuring $preset failed; the log is $log" >&2
    exit 2
  fi
fi
if [ $# -eq 0 ]; then
  set -- all
fi
cmake --build "build/$preset" --target "$@" -- --quiet
