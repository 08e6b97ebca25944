#!/bin/bash
# Linked programs under `larder run --opencl-layer`: whatever goes into one, changed by itself, is a miss, and everything as
# before is a hit. Usage: link_test.sh LARDER LINKED_C DRIVER
set -u
larder=$1
source=$2
driver=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
export OCL_ICD_VENDORS=$work/vendors MESA_SHADER_CACHE_DIR=$work/no POCL_CACHE_DIR=$work/pocl
unset LARDER_DISABLE LD_PRELOAD OPENCL_LAYERS LARDER_OPENCL_LAYER
cd "$work" || exit 2
mkdir vendors

fail() {
  echo "FAIL: $driver: $*" >&2
  exit 1
}
ldconfig -p | grep -q 'libOpenCL\.so\.1 ' || { echo "skipped: no libOpenCL.so.1 (package ocl-icd-libopencl1)"; exit 77; }
cc -O1 -w "$source" -o linked -l:libOpenCL.so.1 || fail "the program does not build"
case $driver in
Oclgrind) library=/usr/lib/oclgrind/liboclgrind-rt-icd.so ;;
*) library=libpocl.so.2 ;;
esac
echo "$library" >vendors/one.icd
./linked "$driver" >out 2>err
code=$?
[ $code = 77 ] && { echo "skipped: $driver is not here (package oclgrind or pocl-opencl-icd)"; exit 77; }
if [ $code != 0 ] || [ "$(cat out)" != 18 ]; then fail "without larder: $code: $(cat out err)"; fi

# gives VALUE MADE WORDS: what the program says, and how many of its two objects, library and program were made, as a
# pattern: an object that comes out the same is the same part.
gives() {
  rm -rf pocl
  timeout 120 "$larder" run --report --opencl-layer all -- ./linked "$driver" "${@:3}" >out 2>err || fail "${*:3}: $?: $(cat err)"
  [ "$(cat out)" = "$1" ] || fail "${*:3}: gives $(cat out) instead of $1"
  local made
  made=$(sed -n 's/^larder: opencl: 4 programs asked.*[( ]\([0-9]*\) made.*/\1/p' err)
  [[ "${made:-0}" =~ ^$2$ ]] || fail "${*:3}: ${made:-0} made instead of $2: $(cat err)"
  grep -q '^larder: opencl: 4 programs asked' err || fail "${*:3}: not four were asked: $(cat err)"
}
gives 18 4
gives 18 0
# Another object is another program, and where it is the library's, another library.
gives 18 2 "caller=int not_called(int by) { return by; }"
gives 18 3 "helper=int not_called(int by) { return by; }"
gives 20 2 "header=#define VALUE 10"
gives 23 2 compile=-DMORE=5
gives 18 1 "order=library first"
# The other name changes the text that includes it, too.
gives 18 "[12]" name=other.h
gives 18 0
# The same in other words: of defines, the last counts, and each way to say it is one.
gives 23 0 "compile=-D MORE=5"
grep -q '4 hits' err || fail "in other words: $(cat err)"
# Another library's options; its bytes may come out the same.
"$larder" run --report --opencl-layer all -- ./linked "$driver" "library=-create-library -enable-link-options" >out 2>err ||
  fail "another option of the library: $?: $(cat err)"
grep -q ' [12] made' err || fail "another option of the library is no miss: $(cat err)"
echo "linked programs are kept"
