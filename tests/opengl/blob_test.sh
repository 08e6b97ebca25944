#!/bin/bash
# A driver that offers no program binaries and lets programs keep its blobs, under `larder run --gl-layer`: larder keeps
# them, unless the program does. Usage: blob_test.sh LARDER FAKE_EGL_C BLOB_USER_C
set -u
larder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
unset LARDER_DISABLE LD_PRELOAD
fail() {
  echo "FAIL: $*" >&2
  exit 1
}
mkdir -m 700 "$work/run" "$work/lib" && cd "$work" || exit 2
cc -O1 -w -shared -fPIC "$2" -o lib/libEGL.so.1 -Wl,-soname,libEGL.so.1 || fail "the driver does not build"
cc -O1 -w "$3" -o user -ldl || fail "the program does not build"
export LD_LIBRARY_PATH=$work/lib

# says WHAT ARGUMENT EXPECTED
says() {
  "$larder" run --report --gl-layer -- ./user "$2" >out 2>err || fail "$1: $?: $(cat err)"
  grep -qx "$3" out || fail "$1: $(cat out), not $3; $(cat err)"
}
./user none | grep -qx "2 good, 2 compiled, 0 from blobs, own: 0 asked 0 kept, error 3000" || fail "without larder"
says cold none "2 good, 2 compiled, 0 from blobs, own: 0 asked 0 kept, error 3000"
grep -q "its blobs are kept" err || fail "does not say why: $(cat err)"
says warm none "2 good, 0 compiled, 2 from blobs, own: 0 asked 0 kept, error 3000"
grep -q "egl-blobs: 2 programs asked, 2 hits" err || fail "not told: $(cat err)"
./user before >plain_before
says "blobs of its own" before "$(cat plain_before)"
says "blobs of its own later" after "2 good, 1 compiled, 1 from blobs, own: 1 asked 1 kept, error 300c"
find store -type f -size +100c | while read -r file; do
  printf 'XXXX' | dd of="$file" bs=1 seek=90 conv=notrunc 2>/dev/null
done
says damaged none "2 good, 2 compiled, 0 from blobs, own: 0 asked 0 kept, error 3000"
LARDER_DISABLE=1 says "switched off" none "2 good, 2 compiled, 0 from blobs, own: 0 asked 0 kept, error 3000"
echo "EGL's blobs: kept, and left to a program that keeps its own"
