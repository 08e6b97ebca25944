#!/bin/bash
# A program whose driver makes binaries dear to ask for, under `larder run --opencl-layer all`: it is not held up, a worker keeps what it built when it is over, and the next start finds that. Whatever
# becomes of the worker, the program says the same.
# Usage: worker_test.sh LARDER USER_C
set -u
larder=$1
user=$2
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store TMPDIR=$work/tmp
export OCL_ICD_VENDORS=$work/vendors MESA_SHADER_CACHE_DIR=$work/no
unset POCL_CACHE_DIR LARDER_DISABLE LD_PRELOAD OPENCL_LAYERS LARDER_OPENCL_LAYER LARDER_OPENCL_WISHES
cd "$work" || exit 2
mkdir vendors inc tmp
words=("Portable Computing Language" inc tkecdx)

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
ldconfig -p | grep -q 'libOpenCL\.so\.1 ' || { echo "skipped: no libOpenCL.so.1 (package ocl-icd-libopencl1)"; exit 77; }
cc -O1 -w "$user" -o user -pthread -l:libOpenCL.so.1 -ldl || fail "the program does not build"
echo libpocl.so.2 >vendors/one.icd
echo '#define VALUE 21' >inc/value.h

# With the driver's own cache empty, and not adopted.
run() {
  rm -rf pocl
  POCL_CACHE_DIR=$work/pocl timeout 200 "$larder" run --report --opencl-layer all -- ./user "${words[@]}" >"$1" 2>err
}
same() {
  diff plain "$1" >&2 || fail "$2: not what the program says without larder"
}
entries() {
  "$larder" ls --kind opencl-program | grep -c .
}
# Until no worker has anything left to do.
settle() {
  for _ in $(seq 1200); do
    [ -z "$(find tmp -maxdepth 1 -name 'larder-wishes-*')" ] && return
    sleep 0.1
  done
  fail "$1: the worker does not end"
}
POCL_CACHE_DIR=$work/pocl timeout 200 ./user "${words[@]}" >plain 2>err
code=$?
[ $code = 77 ] && { echo "skipped: PoCL is not here (package pocl-opencl-icd)"; exit 77; }
[ $code = 0 ] || fail "exits with $code without larder: $(cat err)"

run cold || fail "cold: $?: $(cat err)"
same cold cold
grep -q "left to a worker to keep" err || fail "nothing is left to a worker: $(cat err)"
settle cold
kept=$(entries)
[ "$kept" -gt 5 ] || fail "the worker has kept $kept programs"
"$larder" ls --kind opencl-worker-fault | grep -q . && fail "the worker has met faults: $("$larder" ls)"

run warm || fail "warm: $?: $(cat err)"
same warm warm
grep -q "opencl: .*disk_hit" err || fail "the worker's products are not found: $(cat err)"
grep -q "opencl: .* made" err && fail "a second run builds: $(cat err)"
grep -q "left to a worker" err && fail "what is found is left to a worker: $(cat err)"

# A header that is edited is a miss, and only that.
echo '#define VALUE 22' >inc/value.h
run edited || fail "a header was edited: $?: $(cat err)"
grep -q "with header 0 gives 22" edited || fail "serves what an edited header has made stale"
grep -q ": 1 left to a worker" err || fail "an edited header: $(cat err)"
settle edited
run again || fail "after an edit: $?: $(cat err)"
diff edited again >&2 || fail "after an edit: says something else"
grep -q "left to a worker" err && fail "an edited header is made for ever: $(cat err)"
echo '#define VALUE 21' >inc/value.h

# The driver's own cache is adopted: nothing is left to a worker.
rm -rf store
timeout 200 "$larder" run --report --opencl-layer all -- ./user "${words[@]}" >adopted 2>err ||
  fail "with an adopted cache: $?: $(cat err)"
same adopted "with an adopted cache"
grep -q "left to a worker" err && fail "a worker beside an adopted cache: $(cat err)"

# A driver that ends with a fault in the worker: that program is not tried again, the others are kept.
cat >faulty.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>
int mkdir(const char* path, unsigned mode) {
  static int (*next)(const char*, unsigned);
  if (next == NULL) next = (int (*)(const char*, unsigned))dlsym(RTLD_NEXT, "mkdir");
  if (strcmp(program_invocation_short_name, "larder_opencl_worker") == 0 && strstr(path, "/pocl/") != NULL && strstr(path, "/give") != NULL &&
      unlink("fault") == 0)
    *(volatile int*)NULL = 0;
  return next(path, mode);
}
C
cc -O1 -w -shared -fPIC faulty.c -o faulty.so -ldl || fail "the fault does not build"
rm -rf store
touch fault
LD_PRELOAD=$work/faulty.so run faulty || fail "a worker with a fault: $?: $(cat err)"
same faulty "a worker with a fault"
settle "a worker with a fault"
[ -e fault ] && fail "the worker has met no fault"
[ "$(entries)" = $((kept - 1)) ] || fail "a fault costs more than one program: $kept, now $(entries)"
"$larder" ls --kind opencl-worker-fault | grep -q . || fail "a fault is not marked"
run marked || fail "after a fault: $?: $(cat err)"
same marked "after a fault"
settle "after a fault"
[ "$(entries)" = $((kept - 1)) ] || fail "what ended with a fault is tried again"

# Everything else that may be wrong.
rm -rf store
larder_alone=$work/alone/bin/larder
mkdir -p alone/bin alone/lib/larder
cp "$larder" alone/bin/
layer=$(dirname "$larder")/../layers/opencl/larder_opencl_layer.so
[ -e "$layer" ] && cp "$layer" alone/lib/larder/
POCL_CACHE_DIR=$work/pocl timeout 200 "$larder_alone" run --report --opencl-layer all -- ./user "${words[@]}" >alone.out 2>err || fail "no worker: $?: $(cat err)"
same alone.out "no worker"
[ -e "$layer" ] && { grep -q "larder_opencl_worker is not where" err || fail "does not say that there is no worker: $(cat err)"; }
[ -z "$(ls tmp)" ] || fail "leaves its folder: $(ls tmp)"
rm -rf store && echo "no folder" >store
run unusable || fail "no store: $?: $(cat err)"
same unusable "no store"
settle "no store"
exit 0
