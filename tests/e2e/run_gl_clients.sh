#!/bin/bash
# An unmodified OpenGL program of Debian's on software Mesa under `larder run`: the same picture cold and warm, and
# the second start makes nothing, neither from the directory nor from entries alone.
# Usage: run_gl_clients.sh LARDER moderngl|glmark2|chromium
set -u
larder=$1
client=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/common.sh
. "$here/common.sh"
export LIBGL_ALWAYS_SOFTWARE=1
has() { command -v "$1" >/dev/null || skip "$1 is not installed"; }

may_remake=0
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
  # A profile for each start, so that the browser's own cache of programs stays cold.
  # shellcheck disable=SC2016 # the inner shell expands it
  command=(timeout 100 sh -c 'exec "$@" --user-data-dir="$(mktemp -d -p "$HOME")"' sh chromium --headless --no-sandbox
    --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync
    --disable-gpu-shader-disk-cache --ignore-gpu-blocklist --use-gl=angle --use-angle=gl-egl --dump-dom
    "file://$here/sixty_programs.html")
  picture() { sed -n 's/.*<pre id="out">\([^<]*\)<.*/\1/p' "$1" | grep -v none; }
  # It kills its drawing process while Mesa's cache still writes: what was not written then is made once more.
  may_remake=20
  ;;
*) fail "no client $client" ;;
esac

start() {
  "$larder" run --report -- "${command[@]}" >"$1" 2>report || fail "$client: $(tail -n 20 "$1" report)"
  picture "$1" >"$1.picture"
  [ -s "$1.picture" ] || fail "$client drew nothing: $(tail -n 20 "$1" report)"
}
start cold
made=$(number mesa made)
[ "$made" -ge 1 ] || fail "nothing was made: $(cat report)"
for way in there entries; do
  if [ $way = entries ]; then rm -rf store/adopted; fi
  start warm
  cmp cold.picture warm.picture || fail "another picture $way: $(cat warm.picture)"
  again=$(number mesa made)
  [ $((again * 100)) -le $((made * may_remake)) ] || fail "$way, $again of $made programs were made again: $(cat report)"
done
echo "$client: $made programs made at the first start, $again at the third, from entries alone; $(head -n 1 cold.picture)"
