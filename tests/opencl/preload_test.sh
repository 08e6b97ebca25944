#!/bin/bash
# The layer where OpenCL's loader has no layers: preloaded. A program that is linked to the loader is served, on each
# driver; one that loads it by name, one that is linked to a driver itself, and one that has no OpenCL at all go on as
# without. With a loader that has layers it stands there once.
# Usage: preload_test.sh LARDER USER_C LAYER DRIVER
set -u
larder=$1
user=$2
layer=$3
driver=$4
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store TMPDIR=$work/tmp
export OCL_ICD_VENDORS=$work/vendors MESA_SHADER_CACHE_DIR=$work/no POCL_CACHE_DIR=$work/pocl
unset LARDER_DISABLE LD_PRELOAD OPENCL_LAYERS LARDER_OPENCL_LAYER LARDER_OPENCL_WISHES
cd "$work" || exit 2
mkdir vendors inc tmp

fail() {
  echo "FAIL: $driver: $*" >&2
  exit 1
}
ldconfig -p | grep -q 'libOpenCL\.so\.1 ' || { echo "skipped: no libOpenCL.so.1 (package ocl-icd-libopencl1)"; exit 77; }
cc -O1 -w "$user" -o user -pthread -l:libOpenCL.so.1 -ldl || fail "the program does not build"
echo '#define VALUE 21' >inc/value.h
case $driver in
Oclgrind) # what is released at the end corrupts its memory, without larder too; clones hang it
  echo /usr/lib/oclgrind/liboclgrind-rt-icd.so >vendors/one.icd
  words=("$driver" inc qlk)
  ;;
*)
  echo libpocl.so.2 >vendors/one.icd
  words=("$driver" inc tqlkecdx)
  ;;
esac

# preloaded PROGRAM OUTPUT: with the layer and without `larder run`; what it tells is in told.
preloaded() {
  rm -rf pocl
  : >told
  LARDER_DIR=$work/store LARDER_OPENCL_LAYER=all LARDER_RUN_REPORT=$work/told LD_PRELOAD=$layer \
    timeout 400 "./$1" "${words[@]}" >"$2" 2>err
}
same() {
  diff plain "$1" >&2 || fail "$2: not what the program says without larder"
}
timeout 400 ./user "${words[@]}" >plain 2>err
code=$?
[ $code = 77 ] && { echo "skipped: $driver is not here (package oclgrind or pocl-opencl-icd)"; exit 77; }
[ $code = 0 ] || fail "exits with $code without larder: $(cat err)"

preloaded user cold || fail "cold: $?: $(cat err)"
same cold cold
grep -q "	made	" told || fail "cold: the layer is not there"
preloaded user warm || fail "warm: $?: $(cat err)"
same warm warm
grep -q "	disk_hit	" told || fail "warm: nothing is found"
grep -q "	made	" told && fail "a second run builds: $(cat told)"
hits=$(grep -c "	disk_hit	" told)

# A loader with layers has it as one of them, and once.
OPENCL_LAYERS=$layer preloaded user both || fail "as a layer, too: $?: $(cat err)"
same both "as a layer, too"
# Threads that ask at once are answered now by what was found, now by the driver.
[ "$(grep -c "	disk_hit	" told)" -lt $((hits * 3 / 2)) ] || fail "it stands there twice: $hits, $(cat told)"

LARDER_DISABLE=1 preloaded user disabled || fail "switched off: $?: $(cat err)"
same disabled "switched off"
[ -s told ] && fail "switched off, it is there: $(cat told)"

# By larder run, where the loader takes no notice of layers.
if [ "$driver" = Oclgrind ]; then
  cat >no_layers.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
/* A loader that asks nobody for its layers is one without. */
char* getenv(const char* name) {
  static char* (*next)(const char*);
  if (next == NULL) next = (char* (*)(const char*))dlsym(RTLD_NEXT, "getenv");
  return strcmp(name, "OPENCL_LAYERS") == 0 ? NULL : next(name);
}
C
  cc -O1 -w -shared -fPIC no_layers.c -o no_layers.so -ldl || fail "the loader without layers does not build"
  # shellcheck disable=SC2094 # nothing is read and written at once
  LD_PRELOAD=$work/no_layers.so timeout 400 "$larder" run --report --opencl-layer known -- ./user "${words[@]}" \
    >by_run 2>err || fail "by larder run: $?: $(cat err)"
  same by_run "by larder run"
  grep -q "opencl: .*disk_hit" err || fail "by larder run, a loader without layers is not reached: $(cat err)"

  # Linked to the driver itself: its calls among its own functions are its own, and so are the program's.
  if [ -e /usr/lib/oclgrind/liboclgrind-rt.so ]; then
    mkdir -p lib && ln -sf /usr/lib/oclgrind/liboclgrind-rt.so lib/libOpenCL.so
    cc -O1 -w "$user" -o linked -pthread lib/libOpenCL.so -Wl,-rpath,"$work/lib" -ldl || fail "cannot be linked to it"
    timeout 400 ./linked "${words[@]}" >plain 2>err || fail "linked to the driver, without larder: $?: $(cat err)"
    preloaded linked linked.out || fail "linked to the driver: $?: $(cat err)"
    same linked.out "linked to the driver"
  fi
fi

# One that loads its loader by name has that loader's functions, and its drivers' tables are as they were.
cat >by_name.c <<'C'
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  cl_uint count = 0;
  void* loader = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (loader == NULL) return 1;
  if (((cl_int (*)(cl_uint, cl_platform_id*, cl_uint*))dlsym(loader, "clGetPlatformIDs"))(0, NULL, &count) != 0) return 2;
  return count == 1 ? 0 : 3;
}
C
cc -O1 -w by_name.c -o by_name -ldl || fail "the program that loads by name does not build"
LD_PRELOAD=$layer LARDER_OPENCL_LAYER=all ./by_name || fail "loaded by name: $?"

# No OpenCL at all.
LD_PRELOAD=$layer LARDER_OPENCL_LAYER=all true || fail "a program without OpenCL: $?"
exit 0
