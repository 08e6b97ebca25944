#!/bin/bash
# An unmodified OpenGL program of Debian's on software Mesa under `larder run`: the same picture cold and warm, and
# a start after that makes nothing, neither from the directory nor from entries alone.
# Usage: run_gl_clients.sh LARDER moderngl|glmark2|chromium
set -u
larder=$1
client=$2
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/common.sh
. "$here/common.sh"
# shellcheck source=tests/e2e/gl_clients.sh
. "$here/gl_clients.sh"
may_remake=0
# It kills its drawing process while Mesa's cache still writes: what was not written then is made once more.
[ "$client" != chromium ] || may_remake=20

start() {
  "$larder" run --report -- "${command[@]}" >"$1" 2>report || fail "$client: $(tail -n 20 "$1" report)"
  picture "$1" >"$1.picture"
  [ -s "$1.picture" ] || fail "$client drew nothing: $(tail -n 20 "$1" report)"
}
start cold
made=$(number mesa made)
[ "$made" -ge 1 ] || fail "nothing was made: $(cat report)"
# Mesa drops at exit what its thread of low priority has not written yet: such programs are made once more, here. One start
# alone may have made and dropped them again, and is then told to have made nothing.
quiet=$may_remake
for _ in 1 2 3 4 5 6 7 8; do
  [ $quiet -lt 3 ] || break
  start warm
  if [ "$(number mesa made)" -gt 0 ]; then quiet=0; else quiet=$((quiet + 1)); fi
done
for way in there entries; do
  if [ $way = entries ]; then rm -rf store/adopted; fi
  start warm
  cmp cold.picture warm.picture || fail "another picture $way: $(cat warm.picture)"
  again=$(number mesa made)
  [ $((again * 100)) -le $((made * may_remake)) ] || fail "$way, $again of $made programs were made again: $(cat report)"
done
echo "$client: $made programs made at the first start, $again at the last, from entries alone; $(head -n 1 cold.picture)"
