#!/bin/bash
# A program that uses OpenCL and knows nothing of larder, under `larder run --opencl-layer`: the layer keeps what it
# builds, and the program says the same as without, cold, warm, and whatever of larder is broken.
# Usage: opencl_test.sh LARDER USER_C COUNTING_LAYER_C SUBSTITUTE LAYER DRIVER
set -u
larder=$1
user=$2
counting=$3
substitute=$4
layer=$5
driver=$6
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
export OCL_ICD_VENDORS=$work/vendors MESA_SHADER_CACHE_DIR=$work/no TMPDIR=$work/tmp
unset LARDER_DISABLE LD_PRELOAD OPENCL_LAYERS LARDER_OPENCL_LAYER POCL_CACHE_DIR
cd "$work" || exit 2
mkdir vendors inc tmp

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
ldconfig -p | grep -q 'libOpenCL\.so\.1 ' || { echo "skipped: no libOpenCL.so.1 (package ocl-icd-libopencl1)"; exit 77; }
cc -O1 -w "$user" -o user -pthread -l:libOpenCL.so.1 -ldl || fail "the program does not build"
cc -O1 -w -shared -fPIC "$counting" -o counting.so || fail "the counting layer does not build"

# run OUTPUT: under larder, with the driver's own cache empty, and where it was: PoCL looks for headers there. What the
# report says is in err. Returns when what was left to a worker is kept.
run() {
  rm -rf "$work/pocl"
  POCL_CACHE_DIR=$work/pocl timeout 400 "$larder" run --report --opencl-layer "$which" -- ./user "${words[@]}" \
    >"$1" 2>err
  local code=$?
  for _ in $(seq 1800); do
    [ -z "$(find tmp -maxdepth 1 -name 'larder-wishes-*')" ] && return "$code"
    sleep 0.1
  done
  fail "$driver: the worker does not end"
}
expect() {
  grep -q "opencl: .*$1" err || fail "$driver: $2: $(cat err)"
}
same() {
  diff plain "$1" >&2 || fail "$driver: $2: not what the program says without larder"
}

echo '#define VALUE 21' >inc/value.h
case $driver in
Oclgrind) # what is released at the end corrupts its memory, without larder too; clones hang it
  library=/usr/lib/oclgrind/liboclgrind-rt-icd.so
  words=("$driver" inc qlk)
  which=known
  kept="warning: a_word"
  put="warning: a_WORD"
  shows="^log 0$"
  ;;
*)
  library=libpocl.so.2
  words=("$driver" inc tqlkecdx)
  which=all
  kept=by_how_much
  put=by_how_MUCH
  shows=by_how_MUCH
  ;;
esac
echo "$library" >vendors/one.icd
POCL_CACHE_DIR=$work/pocl timeout 400 ./user "${words[@]}" >plain 2>err
code=$?
[ $code = 77 ] && { echo "skipped: $driver is not here (package oclgrind or pocl-opencl-icd)"; exit 77; }
[ $code = 0 ] || fail "$driver: exits with $code without larder: $(cat err)"

run cold || fail "$driver: cold: $?: $(cat err)"
same cold cold
expect "made" cold
run warm || fail "$driver: warm: $?: $(cat err)"
same warm warm
expect "disk_hit" warm
grep -q "opencl: .* made" err && fail "$driver: a second run builds: $(cat err)"

echo '#define VALUE 22' >inc/value.h
run edited || fail "$driver: a header was edited: $?: $(cat err)"
expect " 3 made" "an edited header is no miss for what is built, compiled and linked"
for fresh in "with header 0 gives 22" "linked 0 gives 23"; do
  grep -q "$fresh" edited || fail "$driver: serves what an edited header has made stale"
done
echo '#define VALUE 21' >inc/value.h

if [ "$which" = all ]; then
  # One context of two devices, that are alike and not.
  before=("${words[@]}")
  words=("$driver" inc 2)
  for POCL_DEVICES in "pthread basic" "pthread pthread"; do
    export POCL_DEVICES
    cp plain plain.one
    POCL_CACHE_DIR=$work/pocl ./user "${words[@]}" >plain 2>err || fail "$driver: $POCL_DEVICES: $?: $(cat err)"
    run cold || fail "$driver: $POCL_DEVICES, cold: $?: $(cat err)"
    same cold "$POCL_DEVICES, cold"
    run warm || fail "$driver: $POCL_DEVICES, warm: $?: $(cat err)"
    same warm "$POCL_DEVICES, warm"
    expect "[23] disk_hit" "$POCL_DEVICES, warm"
    mv plain.one plain
  done
  unset POCL_DEVICES
  words=("${before[@]}")

  # A driver whose own cache is adopted is left alone by the table.
  which=known
  run left || fail "$driver: left alone: $?: $(cat err)"
  same left "left alone"
  expect "bypassed" "left alone"
  expect "adopts its own cache" "does not say why it is left alone"

  # At the end nothing reaches the driver but what the program does.
  export COUNTING_LAYER=$work/counting.so
  : >told
  OPENCL_LAYERS=$COUNTING_LAYER POCL_CACHE_DIR=$work/pocl ./user "${words[@]}" >plain 2>err
  grep -q "^released 1$" plain || fail "$driver: the counting layer does not count: $(cat plain err)"
  LARDER_OPENCL_LAYER=all OPENCL_LAYERS=$COUNTING_LAYER:$layer POCL_CACHE_DIR=$work/pocl LARDER_RUN_REPORT=$work/told \
    ./user "${words[@]}" >ended 2>err || fail "$driver: with a second layer: $?: $(cat err)"
  same ended "with a second layer"
  grep -q "disk_hit" told || fail "$driver: with a second layer, larder answers nothing"
  unset COUNTING_LAYER
  which=all
fi

# What is kept is what is used.
"$substitute" store opencl-program "$kept" "$put" || fail "$driver: nothing to substitute"
run substituted || fail "$driver: substituted: $?: $(cat err)"
grep -q "$shows" plain && fail "$driver: a substituted product could not be seen"
grep -q "$shows" substituted || fail "$driver: a substituted product changes nothing"

# The rest does not depend on the driver, and PoCL takes long for its binaries.
[ "$which" = known ] || exit 0
# Whatever is broken, the program runs.
LARDER_DISABLE=1 run disabled || fail "$driver: switched off: $?: $(cat err)"
same disabled "switched off"
grep -q "opencl:" err && fail "$driver: switched off, the layer is there: $(cat err)"
# Not by larder run, but by the loader alone.
LARDER_DISABLE=1 OPENCL_LAYERS=$layer LARDER_RUN_REPORT=$work/told POCL_CACHE_DIR=$work/pocl \
  ./user "${words[@]}" >disabled 2>err || fail "$driver: loaded and switched off: $?: $(cat err)"
same disabled "loaded and switched off"
rm -rf store
run cold || fail "$driver: a new store: $?: $(cat err)"
find store/v1 -type f -size +200c -exec truncate -s -100 {} +
run truncated || fail "$driver: truncated entries: $?: $(cat err)"
same truncated "truncated entries"
find store/v1 -type f -size +200c -exec sh -c 'printf XXXXXXXX | dd of="$1" bs=1 seek=120 conv=notrunc 2>/dev/null' _ {} \;
run spoiled || fail "$driver: spoiled entries: $?: $(cat err)"
same spoiled "spoiled entries"
chmod -R a-w store
run readonly || fail "$driver: a store that cannot be written: $?: $(cat err)"
same readonly "a store that cannot be written"
chmod -R u+w store
rm -rf store && echo "no folder" >store
run unusable || fail "$driver: no store: $?: $(cat err)"
same unusable "no store"
rm -f store
