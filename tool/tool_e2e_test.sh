#!/bin/bash
# The real binary: exit codes, streams, completions, man page. Usage: tool_e2e_test.sh LARDER
set -u
larder=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run
cd "$work" || exit 2

fail() {
  echo "FAIL: $*" >&2
  exit 1
}
# expect CODE WORDS...: the exit code, with `out` and `err` filled.
expect() {
  local wanted=$1 code=0
  shift
  "$larder" "$@" >out 2>err || code=$?
  [ "$code" -eq "$wanted" ] || fail "larder $*: exit $code, not $wanted: $(cat out err)"
}

expect 0 version
grep -q '^larder 0\.' out || fail "no version"
[ ! -s err ] || fail "version wrote to stderr"
expect 2 versoin
grep -q "did you mean .version." err || fail "no suggestion"
[ ! -s out ] || fail "a failure wrote to stdout"
expect 1 doctor --dir /proc/nothing
expect 0 doctor
expect 0 --size-max 10G config show size-max
grep -q -- '10GiB.*--size-max' out || fail "the flag is not shown as the origin"

# A full disk for the output is an error, not silence.
code=0
"$larder" help settings >/dev/full 2>err || code=$?
[ "$code" -eq 2 ] || fail "output to a full disk: exit $code"

# The user's config file, and a project file that oversteps.
mkdir -p .config/larder project
echo 'age-max = "3d"' >.config/larder/config.toml
printf 'preload = false\ndir = "/tmp/elsewhere"\n' >project/.larder.toml
(cd project && "$larder" config show age-max preload dir >../out 2>../err) || fail "config with a project file"
grep -q '3d.*config.toml:1' out || fail "the config file is not shown as the origin"
grep -q 'off.*\.larder\.toml:1' out || fail "the project file is not read"
grep -q 'elsewhere' out && fail "a project file moved the directory"
grep -q 'project file may come from anybody' err || fail "no warning about the project file"

# Completions are scripts that their shells accept.
"$larder" completions bash >larder.bash || fail "completions bash"
# shellcheck source=/dev/null
source ./larder.bash || fail "bash does not take its completions"
COMP_WORDS=(larder conf) COMP_CWORD=1
_larder
[ "${COMPREPLY[*]}" = config ] || fail "bash completes conf to ${COMPREPLY[*]}"
COMP_WORDS=(larder config --size-m) COMP_CWORD=2
_larder
[ "${COMPREPLY[*]}" = --size-max ] || fail "bash completes --size-m to ${COMPREPLY[*]}"
for shell in zsh fish; do
  "$larder" completions $shell >larder.$shell || fail "completions $shell"
  if command -v $shell >/dev/null; then
    $shell -n larder.$shell || fail "$shell does not take its completions"
  fi
done

"$larder" help --man >larder.1 || fail "man page"
if command -v man >/dev/null; then
  man --warnings -E UTF-8 -l -Tutf8 -Z ./larder.1 >/dev/null 2>err || fail "man: $(cat err)"
  [ ! -s err ] || fail "man warns: $(cat err)"
fi
echo "the command behaves"
