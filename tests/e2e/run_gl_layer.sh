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
export LIBGL_ALWAYS_SOFTWARE=1 MESA_SHADER_CACHE_DIR=$work/mesa
has() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

case $client in
moderngl)
  /usr/bin/python3 -c 'import moderngl' 2>/dev/null || skip "python3-moderngl is not installed"
  command=(/usr/bin/python3 "$here/stripes.py")
  picture() { cat "$1"; }
  ;;
glmark2)
  has glmark2
  has xvfb-run
  command=(xvfb-run -a -s '-screen 0 640x480x24' glmark2 --off-screen --validate -s 200x200
    -b shading:shading=phong -b texture -b bump:bump-render=normals -b ideas)
  picture() { grep -a 'Validation:' "$1"; }
  ;;
chromium)
  has chromium
  # shellcheck disable=SC2016 # the inner shell expands it
  command=(timeout 100 sh -c 'exec "$@" --user-data-dir="$(mktemp -d -p "$HOME")"' sh chromium --headless --no-sandbox
    --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync
    --disable-gpu-shader-disk-cache --ignore-gpu-blocklist --use-gl=angle --use-angle=gl-egl --dump-dom
    "file://$here/sixty_programs.html")
  picture() { sed -n 's/.*<pre id="out">\([^<]*\)<.*/\1/p' "$1" | grep -v none; }
  ;;
*) fail "no client $client" ;;
esac
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
