#!/bin/bash
# A program that uses Vulkan and knows nothing of larder, under `larder run --vulkan-layer`: the layer keeps what the
# driver's pipeline caches hold, and the program says the same as without, cold, warm, and whatever of larder is broken.
# Usage: vulkan_test.sh LARDER FOLDER SUBSTITUTE LAYER keeping|lavapipe
set -u
larder=$1
folder=$2
substitute=$3
layer=$4
driver=$5
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work"; rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_DATA_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
export KEEPING_DRIVER_LOG=$work/log NODEVICE_SELECT=1
unset LARDER_DISABLE LD_PRELOAD LARDER_VULKAN_LAYER VK_LAYER_PATH VK_ADD_LAYER_PATH VK_INSTANCE_LAYERS KEEPING_DRIVER
unset VK_ADD_DRIVER_FILES VK_ICD_FILENAMES VK_LOADER_LAYERS_ENABLE VK_LOADER_LAYERS_DISABLE XDG_DATA_DIRS
mkdir -m 700 "$work/run"
cd "$work" || exit 2

fail() {
  echo "FAIL: $driver: $*" >&2
  exit 1
}
ldconfig -p | grep -q 'libvulkan\.so\.1 ' || { echo "skipped: no libvulkan.so.1 (package libvulkan1)"; exit 77; }
command -v spirv-as >as || { echo "skipped: no spirv-as (package spirv-tools)"; exit 77; }
spirv-as --target-env vulkan1.0 "$folder/times.spvasm" -o times.spv || fail "the shader does not assemble"
cc -O1 -w "$folder/user.c" -o user -pthread -l:libvulkan.so.1 || fail "the program does not build"

# run OUTPUT LETTERS: under larder. The driver's notes are in log, what the report says in err.
run() {
  rm -f log
  touch log
  timeout 120 "$larder" run --report --vulkan-layer -- ./user times.spv own.cache "$2" >"$1" 2>err ||
    fail "$1: exits with $?: $(cat "$1" err)"
  ! grep violated log || fail "$1: breaks a rule of Vulkan's"
}
# plain OUTPUT LETTERS: without larder.
plain() {
  rm -f log
  touch log
  timeout 120 ./user times.spv own.cache "$2" >"$1" 2>err
}
same() {
  diff plain "$1" >&2 || fail "$1: not what the program says without larder"
}
told() {
  grep -q "$1" err || fail "$2: $(cat err)"
}
new() { grep -c -e compiled -e uncached log; }

if [ "$driver" = lavapipe ]; then
  for manifest in /usr/share/vulkan/icd.d/lvp_icd*.json; do export VK_DRIVER_FILES=$manifest; done
  export MESA_SHADER_CACHE_DIR=$work/mesa
  letters=ndtcmfaik
  plain plain $letters
  code=$?
  [ $code = 77 ] && { echo "skipped: no lavapipe (package mesa-vulkan-drivers)"; exit 77; }
  [ $code = 0 ] || fail "exits with $code without larder: $(cat plain err)"
  grep -q "^d: 0 7 14 21 28 35 42 49$" plain || fail "does not compute: $(cat plain)"
  # Its caches hold a header and nothing else: that is why it is left alone.
  [ "$(stat -c %s own.cache)" = 32 ] || fail "its caches hold $(stat -c %s own.cache) bytes: look at why_left_alone again"
  for each in first second; do
    run $each $letters
    same $each
    told "vulkan: .* bypassed" "does not say that it stands aside"
    told "lavapipe's pipeline caches hold a header and nothing else" "does not say why it stands aside"
  done
  "$larder" ls 2>/dev/null | grep -q vulkan && fail "keeps something of a driver that is left alone"
  exit 0
fi

cc -O1 -w -shared -fPIC -fvisibility=hidden -pthread "$folder/keeping_driver.c" -o keeping_driver.so ||
  fail "the driver does not build"
echo "{\"file_format_version\": \"1.0.0\",
  \"ICD\": {\"library_path\": \"$work/keeping_driver.so\", \"api_version\": \"1.3.239\"}}" >keeping.json
export VK_DRIVER_FILES=$work/keeping.json

[ "$(nm -D --defined-only "$layer" | awk '{print $3}')" = vkNegotiateLoaderLayerInterfaceVersion ] ||
  fail "exports more than the loader asks for: $(nm -D --defined-only "$layer")"

letters=ntcemgfaik
plain plain $letters || fail "exits with $? without larder: $(cat plain err)"
grep violated log && fail "breaks a rule without larder"
grep -q "^uncached" log || fail "the driver finds pipelines by itself"

rm -f own.cache
run cold $letters
same cold
grep -q "^uncached" log && fail "a pipeline is created without a cache: $(cat log)"
told "vulkan: .* made" cold
rm -f own.cache
run warm $letters
same warm
[ "$(new)" = 0 ] || fail "a second run compiles: $(cat log)"
told "vulkan: .* disk_hit" warm
[ "$(grep -c "^left" log)" = 0 ] || fail "leaves something with the driver: $(cat log)"

# What the program's own cache has goes to it, and stays what it is.
run own $letters
same own
[ "$(new)" = 0 ] || fail "with its own cache, too, a run compiles: $(cat log)"

# What is kept is what is used.
"$substitute" store vulkan-pipelines made MADE || fail "nothing to substitute"
rm -f own.cache
run substituted n
grep -q "^found .* MADE" log || fail "a substituted product changes nothing: $(cat log)"
# What is whole and of another driver never reaches this one.
"$substitute" store vulkan-pipelines keeping-driver- KEEPING-driver- || fail "nothing to substitute"
run foreign n
[ "$(new)" = 10 ] || fail "finds pipelines in what another driver made: $(cat log)"
run again n
[ "$(new)" = 0 ] || fail "what another driver made stays in the way: $(cat log)"

# Programs end without a word: each run keeps some of what is new.
rm -rf store
runs=0
until run left nx && [ "$(new)" = 0 ]; do
  runs=$((runs + 1))
  [ $runs -lt 12 ] || fail "a program that ends without destroying its device compiles for ever"
done
[ $runs -gt 0 ] || fail "nothing was to be compiled"

# A device that is destroyed while the process ends.
rm -rf store
plain plain gs
run ended gs
same ended
run ended gs
same ended
[ "$(new)" = 0 ] || fail "what was kept before the end is not found: $(cat log)"

# Processes at once: what each of them adds stays.
rm -rf store
for round in 1 2 3; do
  for letter in n g f m t; do
    "$larder" run --vulkan-layer -- ./user times.spv none.$round.$letter $letter >/dev/null 2>&1 &
  done
done
wait
grep violated log && fail "at once: breaks a rule of Vulkan's"
run together ngfmt
[ "$(new)" = 0 ] || fail "what one process kept, another has dropped: $(cat log)"

# What takes pipelines' binaries itself is left alone.
plain plain nb
run binaries nb
same binaries
[ "$(grep -c "^uncached" log)" = 10 ] || fail "VK_KHR_pipeline_binary: a cache is given all the same"
told "keeps its pipelines' binaries itself" "VK_KHR_pipeline_binary: does not say why it stands aside"

plain plain n
# Drivers that are of no use.
rm -rf store
KEEPING_DRIVER=useless run useless n
same useless
told "hold a header and nothing else" "does not say that the driver keeps nothing"
for run in making finding finding finding; do KEEPING_DRIVER=slow run $run n; done
[ "$(new)" = 0 ] || fail "finds nothing: $(cat log)"
KEEPING_DRIVER=slow run slow n
same slow
told "makes them no faster" "does not say that finding is slower than making"
[ "$(grep -c "^uncached" log)" = 10 ] || fail "does not stand aside where finding is slower than making: $(cat log)"
rm -rf store
run cold n
KEEPING_DRIVER=refuses run refused n
same refused
grep -q "^refused" log || fail "the driver was not asked"
[ "$(grep -c "^compiled" log)" = 10 ] || fail "refused data, and no cache afterwards: $(cat log)"
run again n
[ "$(new)" = 0 ] || fail "what was refused is not made anew: $(cat log)"

# Whatever is broken, the program runs.
LARDER_DISABLE=1 run disabled n
same disabled
[ "$(grep -c "^uncached" log)" = 10 ] || fail "switched off, and there all the same"
find store/v1 -type f -size +200c -exec truncate -s -100 {} +
run truncated n
same truncated
find store/v1 -type f -size +200c -exec sh -c 'printf XXXXXXXX | dd of="$1" bs=1 seek=160 conv=notrunc 2>/dev/null' _ {} \;
run spoiled n
same spoiled
chmod -R a-w store
run readonly n
same readonly
chmod -R u+w store
rm -rf store && echo "no folder" >store
run unusable n
same unusable
rm -f store

# Where it is installed: off unless asked, by a variable alone, and there once even if asked twice.
cmake --install "$(dirname "$layer")" --prefix "$work/installed" >/dev/null || fail "cannot be installed"
export XDG_DATA_DIRS=$work/installed/share
plain implicit n
[ "$(grep -c "^uncached" log)" = 10 ] || fail "an installed layer is there without being asked"
LARDER_VULKAN_LAYER=1 LARDER_DISABLE=1 plain implicit n
[ "$(grep -c "^uncached" log)" = 10 ] || fail "an installed layer cannot be switched off"
LARDER_VULKAN_LAYER=1 plain implicit n
same implicit
grep -q "^compiled" log || fail "an installed layer does not come when asked: $(cat log)"
LARDER_VULKAN_LAYER=1 plain implicit n
[ "$(new)" = 0 ] || fail "an installed layer keeps nothing: $(cat log)"
LARDER_VULKAN_LAYER=1 run twice n
same twice
[ "$(new)" = 0 ] || fail "asked twice, it finds nothing: $(cat log)"
[ "$(grep -c took log)" = 1 ] || fail "asked twice, it is there twice: $(cat log)"
# The user's own layers stay.
VK_LAYER_PATH=$work/nowhere run path n
[ "$(new)" = 0 ] || fail "not found where the user says where layers are: $(cat log)"

# Khronos' checker finds nothing to complain of, whichever of both is nearer to the driver.
checker=VK_LAYER_KHRONOS_validation
[ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ] || { echo "skipped: no $checker (package vulkan-validationlayers)"; exit 77; }
unset XDG_DATA_DIRS
for layers in $checker:VK_LAYER_LARDER_pipelines VK_LAYER_LARDER_pipelines:$checker; do
  for each in cold warm; do
    [ $each = cold ] && rm -rf store own.cache
    rm -f log
    VK_ADD_LAYER_PATH=$(dirname "$layer") VK_INSTANCE_LAYERS=$layers \
      timeout 120 ./user times.spv own.cache ntcmfai >checked 2>&1 || fail "$layers: exits with $?: $(cat checked)"
    grep -q -i -e validation -e VUID checked && fail "$layers: $(cat checked)"
    grep violated log && fail "$layers: breaks a rule of Vulkan's"
  done
  [ "$(new)" = 0 ] || fail "$layers: a second run compiles"
done
exit 0
