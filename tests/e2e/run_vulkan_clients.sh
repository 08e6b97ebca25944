#!/bin/bash
# Vulkan programs that nobody here wrote, under `larder run --vulkan-layer` on software Mesa: the same output as without,
# and next to nothing made by a second start, since Mesa's own cache is adopted; the layer says that it stands aside.
# Usage: run_vulkan_clients.sh LARDER ffmpeg|libplacebo|vkcube|vulkaninfo
set -u
larder=$1
client=$2
# shellcheck source=tests/e2e/common.sh
. "$(dirname "$0")/common.sh"
unset VK_LAYER_PATH VK_ADD_LAYER_PATH VK_INSTANCE_LAYERS LARDER_VULKAN_LAYER
for manifest in /usr/share/vulkan/icd.d/lvp_icd*.json; do
  [ -e "$manifest" ] || skip "no lavapipe (package mesa-vulkan-drivers)"
  export VK_DRIVER_FILES=$manifest
done

picture=(ffmpeg -v error -nostdin -init_hw_device "vulkan=vk:0" -filter_hw_device vk -f lavfi -i "testsrc=d=0.2:s=128x96")
compiles=yes
case $client in
ffmpeg)
  command -v ffmpeg >where || skip "no ffmpeg"
  words=("${picture[@]}" -vf "format=yuv420p,hwupload,avgblur_vulkan,hflip_vulkan,hwdownload,format=yuv420p" -f framemd5 -)
  ;;
libplacebo)
  command -v ffmpeg >where || skip "no ffmpeg"
  ffmpeg -v error -filters 2>&1 | grep -q ' libplacebo ' || skip "an ffmpeg without libplacebo"
  words=("${picture[@]}" -vf "format=yuv420p,hwupload,libplacebo=w=64:h=48:upscaler=none,hwdownload,format=yuv420p"
    -f framemd5 -)
  ;;
vkcube)
  command -v vkcube >where || skip "no vkcube (package vulkan-tools)"
  command -v xvfb-run >where || skip "no xvfb-run (package xvfb)"
  words=(xvfb-run -a vkcube --c 3 --suppress_popups)
  ;;
vulkaninfo)
  command -v vulkaninfo >where || skip "no vulkaninfo (package vulkan-tools)"
  # What the loader lists beside the driver's is not the driver's: layers, and what they add.
  words=(sh -c 'vulkaninfo --show-formats 2>/dev/null | sed -e "/^Layers/,/^Presentable/d" -e "/heapBudget\|heapUsage\|budget\|usage *=/d"')
  compiles=no
  ;;
*) fail "which client?" ;;
esac

MESA_SHADER_CACHE_DIR=$work/plain timeout 120 "${words[@]}" >expected 2>said || {
  [ "$client" = libplacebo ] && skip "libplacebo cannot use this driver by itself: $(tail -1 said)"
  fail "the program fails by itself: $(cat said)"
}
[ "$client" = vkcube ] || [ -s expected ] || fail "the program says nothing"
run() {
  timeout 120 "$larder" run --report --vulkan-layer -- "${words[@]}" >out 2>report || fail "the program failed: $(cat out report)"
  cmp -s out expected || fail "other output: $(diff expected out | head -20)"
}
run
made=$(number mesa made)
if [ $compiles = yes ]; then
  grep -q "vulkan: .* bypassed" report || fail "the layer is not there, or does not say so: $(cat report)"
  grep -q "lavapipe's pipeline caches hold a header" report || fail "not said why: $(cat report)"
  [ "$made" -ge 1 ] || fail "nothing was made: $(cat report)"
fi
run
[ "$(number mesa made)" -eq 0 ] || fail "the second start made something: $(cat report)"
echo "$client: $made files made at the first start, none at the second; the layer stands aside and says so"
