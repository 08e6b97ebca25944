#!/bin/bash
# Programs that use NVRTC and know nothing of larder, under `larder run`: the same output cold and warm, bit by bit, a
# second run compiles nothing, whatever decides a program makes a miss, and whatever is broken the program runs.
# Usage: nvrtc_test.sh LARDER USER_C SUBSTITUTE
set -u
larder=$1
user=$2
substitute=$3
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
export POCL_CACHE_DIR=$work/no MESA_SHADER_CACHE_DIR=$work/no # their drivers are not asked here
unset LARDER_DISABLE LD_PRELOAD NVRTC_APPEND_FLAGS
cd "$work" || exit 2

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

library=""
for each in /usr/local/cuda*/lib*/libnvrtc.so.* /usr/lib/*-linux-gnu/libnvrtc.so.* \
  $(ldconfig -p | sed -n 's/.*libnvrtc\.so\.[0-9.]* .*=> //p'); do
  [ -e "$each" ] && library=$each && break
done
[ -n "$library" ] || { echo "skipped: no libnvrtc on this machine (CUDA, or Debian's non-free)"; exit 77; }
export LIBRARY=$library # begins with nothing that NVRTC would read
folder=$(dirname "$library")
cc -O1 -w "$user" -o linked -pthread "$library" "-Wl,-rpath,$folder" || fail "the linked program does not build"
cc -O1 -w -DLOADED "$user" -o loaded -pthread -ldl || fail "the loading program does not build"

mkdir inc late
echo '#define VALUE 1' >late/a.h
cat >k.cu <<'CU'
#include "a.h"
#include "memory.h"
#if __has_include("maybe.h")
#define MORE 100
#else
#define MORE 0
#endif
template <int N> __global__ void k(int* x) { *x = N + VALUE + MORE + FROM_MEMORY; }
CU
export EXPRESSION='k<5>'
options=(-Iinc -Ilate -arch=sm_90)

# Runs `larder run --report` on it; what the report says is in err.
run() { "$larder" run --report -- "$@" 2>err; }
expect() {
  grep -q "nvrtc: .*$1" err || fail "$2: $(cat err)"
}

for way in linked loaded; do
  rm -rf store
  "./$way" plain k.cu plain.out "${options[@]}" || fail "$way: does not run without larder"
  run "./$way" plain k.cu cold.out "${options[@]}" || fail "$way: cold: $(cat err cold.out)"
  expect "1 programs asked, 0 hits (1 made)" "$way: cold"
  run "./$way" plain k.cu warm.out "${options[@]}" || fail "$way: warm: $(cat err)"
  expect "1 programs asked, 1 hits (1 disk_hit)" "$way: a second run compiles"
  cmp -s plain.out cold.out || fail "$way: cold is not what it is without larder"
  cmp -s cold.out warm.out || fail "$way: warm is not what cold was"

  # The compiler's no, and an option that it does not know: the same code and log.
  echo '__global__ void k(flaot x) {}' >bad.cu
  for round in cold warm; do
    for try in "bad.cu" "k.cu -bogus" "k.cu -Iinc -Ilate -dlto" "k.cu -Iinc -Ilate"; do
      # shellcheck disable=SC2086 # words
      set -- $try
      "./$way" plain "$1" plain.out "${@:2}"
      code=$?
      run "./$way" plain "$1" run.out "${@:2}"
      [ $? -eq $code ] || fail "$way: $round: $try: another exit code"
      cmp -s plain.out run.out || fail "$way: $round: $try: other output: $(diff -a plain.out run.out)"
    done
  done
  expect "1 disk_hit" "$way: $round: $try"

  for mode in threads fork reload; do
    run "./$way" $mode k.cu $mode.out "${options[@]}" || fail "$way: $mode: $(cat err)"
    cmp -s cold.out $mode.out || fail "$way: $mode: other output"
    expect "0 made\|disk_hit" "$way: $mode"
    ! grep -q "nvrtc: .* made)" err || fail "$way: $mode: compiles again"
  done
done

# What must not matter: times of headers, another checkout, an environment that nobody reads.
touch -d '3 days ago' late/a.h
run ./linked plain k.cu warm.out "${options[@]}"
expect "1 disk_hit" "the time of a header matters"
mkdir other
cp -r late inc k.cu linked other/
(cd other && "$larder" run --report -- ./linked plain k.cu ../warm.out "${options[@]}" 2>../err)
expect "1 disk_hit" "the folder of a checkout matters"
NOBODY_READS=this run ./linked plain k.cu warm.out "${options[@]}"
expect "1 disk_hit" "an environment that nobody reads matters"

# What does: each is a miss, and what it was made from is named.
miss() {
  run "${@:3}" || fail "$1: $(cat err)"
  expect "(1 made)" "$1 changes nothing"
  "$larder" why >said 2>&1
  grep -qF -- "$2" said || fail "$1: why does not name it: $(head -30 said)"
}
echo '#define VALUE 2' >late/a.h
miss "an edited header" "file late/a.h" ./linked plain k.cu out "${options[@]}"
echo >inc/maybe.h
miss "a header that __has_include finds" "inc/maybe.h" ./linked plain k.cu out "${options[@]}"
rm inc/maybe.h
echo '#define VALUE 3' >inc/a.h
miss "a header that is found earlier" "inc/a.h" ./linked plain k.cu out "${options[@]}"
rm inc/a.h
miss "an option" "compile-options" ./linked plain k.cu out "${options[@]}" -DX
NVRTC_APPEND_FLAGS=-DY miss "the environment" "environment" ./linked plain k.cu out "${options[@]}"
EXPRESSION='k<6>' miss "a name expression" "name-expression" ./linked plain k.cu out "${options[@]}"
sed 's/N +/N -/' k.cu >other.cu
miss "the source" "text" ./linked plain other.cu out "${options[@]}"
run ./linked plain k.cu out "${options[@]}" -time=times.csv
expect "1 bypassed" "an option that writes a file is answered"
grep -q "could not be kept: nvrtc: option --time=times.csv" err || fail "why it is not kept is not told: $(cat err)"
[ -e times.csv ] || fail "the option's file is not written"

# CUB and cooperative groups, linked and loaded: their hundreds of headers are looked at, and nothing is compiled.
include=$(dirname "$folder")/include
if [ -e "$include/cccl/cub/block/block_reduce.cuh" ] && [ -e "$include/cooperative_groups.h" ]; then
  cat >cub.cu <<'CU'
#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
template <int N> __global__ void k(int* x) {
  typedef cub::BlockReduce<int, N * 32> R;
  __shared__ typename R::TempStorage t;
  int s = R(t).Sum(x[threadIdx.x]);
  cooperative_groups::this_thread_block().sync();
  x[threadIdx.x] = s;
}
CU
  cub=("-I$include" "-I$include/cccl" -std=c++17 -arch=sm_90)
  run ./linked plain cub.cu cold.out "${cub[@]}" || fail "CUB: cold: $(cat err cold.out)"
  expect "(1 made)" "CUB: cold"
  for way in linked loaded; do
    run ./$way plain cub.cu warm.out "${cub[@]}" || fail "CUB: $way: $(cat err)"
    expect "1 disk_hit" "CUB: $way: compiles again"
    cmp -s cold.out warm.out || fail "CUB: $way: warm is not what cold was"
  done
else
  echo "without CUB: its headers are not beside $library"
fi

# Two builds of libnvrtc in one process: each has products of its own, and finds those again. The other one is a copy
# with another build id, with its builtins beside it.
id=$(readelf -n "$library" 2>/dev/null | sed -n 's/.*Build ID: //p' | head -1)
if [ -n "$id" ] && [ "$(uname -m)" = x86_64 ]; then
  mkdir copy
  cp -L "$library" copy/libnvrtc.so.other
  cp -L "$folder"/libnvrtc-builtins.so.* copy/ || fail "no builtins beside $library"
  # shellcheck disable=SC2001 # what is replaced is no fixed text
  at=$(LC_ALL=C grep -obUaP "$(sed 's/../\\x&/g' <<<"$id")" copy/libnvrtc.so.other | head -1 | cut -d: -f1)
  [ -n "$at" ] || fail "the build id is not found in the file"
  flipped=$(printf '%02x' $((0x${id:0:2} ^ 0xff)))
  printf '%b' "\\x$flipped" | dd of=copy/libnvrtc.so.other bs=1 seek="$at" conv=notrunc 2>/dev/null
  rm -rf store
  export OTHER_LIBRARY=$work/copy/libnvrtc.so.other
  for round in "0 hits (2 made)" "2 hits (2 disk_hit)"; do
    run ./loaded both k.cu both.out "${options[@]}" || fail "two libraries: exit code $?: $(cat err)"
    expect "2 programs asked, $round" "two libraries"
    cmp -s both.out both.out.other || fail "two libraries: other output"
  done
  LIBRARY=$work/copy/libnvrtc.so.other OTHER_LIBRARY=$library run ./loaded both k.cu both.out "${options[@]}"
  expect "2 programs asked, 2 hits (2 disk_hit)" "two libraries in another order"
  # One that has another path and nothing else is the same.
  cp -L "$library" copy/libnvrtc.so.same
  OTHER_LIBRARY=$work/copy/libnvrtc.so.same run ./loaded both k.cu both.out "${options[@]}"
  expect "2 programs asked, 2 hits" "a copy of the same build"
  rm -rf copy
fi

# Another product in its place: the program gets that one.
run ./linked plain k.cu cold.out "${options[@]}"
cat >other.cu <<'CU'
extern "C" __global__ void k(int* x) { *x = 4711; }
CU
unset EXPRESSION
run ./linked plain other.cu cold.out -arch=sm_90
run ./linked plain other.cu warm.out -arch=sm_90
cmp -s cold.out warm.out || fail "warm is not what cold was"
"$substitute" "$work/store" nvrtc-program '4711;' '4712;' || fail "no entry has the product"
run ./linked plain other.cu warm.out -arch=sm_90
expect "1 disk_hit" "a substituted product is made again"
grep -aq '4712;' warm.out || fail "a substituted product changes nothing"

# Whatever is broken, the program runs as it would.
"./linked" plain other.cu plain.out -arch=sm_90
# shellcheck disable=SC2016 # for eval
for breaking in 'chmod 0 store/v1' 'rm -rf store && echo x >store' 'find store/v1 -type f -exec truncate -s 100 {} +' \
  'for each in store/v1/??/*; do head -c 4000 /dev/urandom >"$each"; done' 'rm -rf store && ln -s /nowhere store' \
  'rm -rf store && mkdir -m 0777 store'; do
  rm -rf store && run ./linked plain other.cu out -arch=sm_90
  eval "$breaking"
  run ./linked plain other.cu out -arch=sm_90 || fail "$breaking: the program fails: $(cat err)"
  cmp -s plain.out out || fail "$breaking: other output"
  chmod -R u+rwx store 2>/dev/null
  rm -rf store
done
LARDER_DISABLE=1 run ./linked plain other.cu out -arch=sm_90 || fail "LARDER_DISABLE=1: the program fails"
[ ! -e store/v1 ] || fail "LARDER_DISABLE=1 makes a store"

# A program that never touches NVRTC opens nothing of larder's.
run true
! grep -q nvrtc err || fail "a program without NVRTC is counted"
echo "nvrtc behaves"
