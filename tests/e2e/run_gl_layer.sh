#!/bin/bash
# An unmodified OpenGL program of Debian's on software Mesa under `larder run --gl-layer`, with Mesa's own cache empty at
# each start: the same picture cold and warm, the second start links nothing, and products that are exchanged show.
# Usage: run_gl_layer.sh LARDER SWAP moderngl|glmark2|chromium
set -u
larder=$1
swap=$2
client=$3
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/common.sh
. "$here/common.sh"
export MESA_SHADER_CACHE_DIR=$work/mesa
# shellcheck source=tests/e2e/gl_clients.sh
. "$here/gl_clients.sh"
# What the layer says of that outcome; nothing is 0.
told() { sed -n "s/^larder: opengl: .*[( ]\([0-9][0-9]*\) $1.*/\1/p" report | grep . || echo 0; }

start() {
  rm -rf mesa
  "$larder" run --report --gl-layer -- "${command[@]}" "${@:2}" >"$1" 2>report || fail "$client: $(tail -n 20 "$1" report)"
  picture "$1" >"$1.picture"
  [ -s "$1.picture" ] || fail "$client drew nothing: $(tail -n 20 "$1" report)"
}
"${command[@]}" >plain 2>report || fail "$client fails without larder: $(tail -n 20 plain report)"
picture plain >plain.picture
start cold
cmp plain.picture cold.picture || fail "another picture cold: $(cat cold.picture)"
made=$(told made)
[ "$made" -ge 1 ] || fail "nothing was linked: $(cat report)"
start warm
cmp plain.picture warm.picture || fail "another picture warm: $(cat warm.picture)"
[ "$(told made)" -eq 0 ] || fail "the second start links: $(cat report)"
[ "$(told disk_hit)" -ge 1 ] || fail "the second start found nothing: $(cat report)"
hits=$(told disk_hit)
if [ "$client" = moderngl ]; then
  start other 0.2
  cmp -s plain.picture other.picture && fail "narrower stripes are the same"
  "$swap" store opengl-program || fail "there are not two programs"
  start exchanged
  cmp other.picture exchanged.picture || fail "what is kept is not what is used"
fi
echo "$client: $made programs linked at the first start, none at the second, which found $hits; $(head -n 1 plain.picture)"
