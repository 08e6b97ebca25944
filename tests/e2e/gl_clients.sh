# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # who sources this uses `command`, and has set `client` and `here`
# Sourced by the tests with OpenGL programs of Debian's on software Mesa: `command` starts the one called $client,
# `picture FILE` prints what it drew, out of what it said.
export LIBGL_ALWAYS_SOFTWARE=1
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
  # A profile for each start, so that the browser's own cache of programs stays cold.
  # shellcheck disable=SC2016 # the inner shell expands it
  command=(timeout 100 sh -c 'exec "$@" --user-data-dir="$(mktemp -d -p "$HOME")"' sh chromium --headless --no-sandbox
    --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync
    --disable-gpu-shader-disk-cache --ignore-gpu-blocklist --use-gl=angle --use-angle=gl-egl --dump-dom
    "file://$here/sixty_programs.html")
  picture() { sed -n 's/.*<pre id="out">\([^<]*\)<.*/\1/p' "$1" | grep -v none; }
  ;;
*) fail "no client $client" ;;
esac
