#!/bin/bash
# The real binary: exit codes, streams, every command, completions, man page. Usage: tool_e2e_test.sh LARDER
set -u
larder=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
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
if command -v fish >/dev/null; then
  # Line typed, word that it is completed to.
  while IFS='|' read -r typed word; do
    fish --no-config -c "source larder.fish; complete -C '$typed'" | cut -f1 >out
    [ "$(cat out)" = "$word" ] || fail "fish completes '$typed' to $(cat out)"
  done <<'END'
larder conf|config
larder config --size-m|--size-max
larder completions z|zsh
larder ls --lar|--largest
END
fi
if command -v zsh >/dev/null && ! zsh -fc 'zmodload zsh/zpty && zpty there true' 2>/dev/null; then
  echo "not typed to zsh: no pseudo terminals here"
elif command -v zsh >/dev/null; then
  # At a terminal of its own: what is typed before the tab, then a word that shows where the completion ended.
  cat >type.zsh <<'END'
zmodload zsh/zpty
zpty -b z "env -i HOME=$PWD PATH=$PATH TERM=dumb PS1= zsh -f -i"
zpty -w z "autoload -Uz compinit; compinit -D -u; source ./larder.zsh; unset zle_bracketed_paste; larder() { print -rl -- \"got:\${(j:|:)@}\" }; print -r -- load''ed"
zpty -r z out '*loaded*'
for typed in 'larder conf' 'larder config --size-m' 'larder completions z' 'larder ls --lar'; do
  zpty -w -n z "$typed"$'\tend\n'
  zpty -r z out '*got:*end*'
  print -r -- "${${out##*got:}%%$'\r'*}"
done
zpty -d z
END
  timeout 30 zsh -f type.zsh >out || fail "zsh cannot be typed to: $(cat out)"
  printf '%s\n' 'config|end' 'config|--size-max|end' 'completions|zsh|end' 'ls|--largest|end' >wanted
  diff wanted out || fail "zsh completes otherwise"
fi

# A place where nothing was ever kept.
unset LARDER_DISABLE
export LARDER_DIR=$work/cache LARDER_RUNTIME_DIR=$work/run LARDER_FREE_MIN=0
expect 0 ls
[ ! -s out ] || fail "ls of nothing prints rows"
grep -q "nothing is kept in $LARDER_DIR" err || fail "ls of nothing does not say so"
expect 0 stats --json
grep -q '"exists":false' out || fail "stats of nothing"
expect 1 why
expect 1 show 12
expect 2 clear
grep -q -- '--all' err || fail "a bare clear does not say what to do"
expect 2 verify --reomve
grep -q 'did you mean .--remove.' err || fail "no suggestion for a flag"
[ ! -e "$LARDER_DIR" ] || fail "looking made a directory"

# Three entries, made elsewhere.
bundle=$work/three.bundle
(umask 077 && cat "$here/testdata/three.bundle" >"$bundle")  # others may be able to write the checkout
expect 0 import --check "$bundle"
expect 0 import "$bundle"
grep -q 'imported 3 entries' out || fail "import: $(cat out)"
expect 0 import "$bundle"
grep -q '3 were there' out || fail "a second import: $(cat out)"
expect 0 ls
[ "$(wc -l <out)" -eq 4 ] || fail "ls: $(cat out)"
key=$(awk 'NR == 2 {print $1}' out)
expect 0 show "$key"
grep -q '^  options = ' out || fail "show: $(cat out)"
expect 2 show not-a-key
expect 0 verify
expect 0 export again.bundle
cmp -s again.bundle "$bundle" || fail "what was imported is exported otherwise"
(unset LARDER_DIR && XDG_CACHE_HOME=$work/xdg "$larder" import "$bundle" >out 2>err) || fail "import: $(cat err)"
[ -d "$work/xdg/larder/v1" ] || fail "without LARDER_DIR the store is not in the XDG place"

# Readers that go away, and outputs that are closed or full.
for words in ls 'ls --json' 'help --man' 'completions bash' stats; do
  # shellcheck disable=SC2086
  { "$larder" $words 2>err || true; } | head -c 1 >/dev/null
  [ ! -s err ] || fail "larder $words | head: $(cat err)"
  code=0
  # shellcheck disable=SC2086
  "$larder" $words >&- 2>err || code=$?
  [ "$code" -eq 2 ] || fail "larder $words >&-: exit $code"
  grep -q 'could not be written' err || fail "larder $words >&-: $(cat err)"
done

# Colour only where it is wanted, and lines that fit the terminal.
escape=$(printf '\033')
expect 0 --color always show "$key"
grep -q "$escape" out || fail "no colour although it was asked for"
expect 0 show "$key"
grep -q "$escape" out && fail "colour without a terminal"
if command -v script >/dev/null; then
  TERM=xterm script -qec "stty cols 40; '$larder' ls" /dev/null >out 2>err </dev/null
  grep -q "$key" out || fail "ls on a terminal: $(cat out)"
  [ "$(tr -d '\r' <out | awk 'length > 40' | wc -l)" -eq 0 ] || fail "lines above 40 columns: $(cat out)"
  TERM=xterm NO_COLOR=1 script -qec "'$larder' show $key" /dev/null >out 2>err </dev/null
  grep -q "$escape" out && fail "colour in spite of NO_COLOR"
  TERM=xterm NO_COLOR='' script -qec "'$larder' show $key" /dev/null >out 2>err </dev/null
  grep -q "$escape" out || fail "no colour on a terminal"
fi

# Damage is named, and removed when that is asked for.
file=$LARDER_DIR/v1/${key:0:2}/$(cd "$LARDER_DIR/v1/${key:0:2}" && echo "${key:2}"*)
printf x >>"$file"
expect 1 verify
grep -q "^$key.*corrupt" out || fail "verify: $(cat out)"
expect 1 verify --remove
expect 0 verify
[ ! -e "$file" ] || fail "the damaged entry is there"
expect 0 gc
expect 0 clear --kind no-such-kind
grep -q 'removed 0 entries' out || fail "clear: $(cat out)"
mkfifo pipe
expect 2 export pipe
[ -p pipe ] || fail "export replaced a pipe"
expect 0 --memory off config show memory
grep -q '^memory *off' out || fail "--memory off: $(cat out)"
chmod 770 "$(dirname "$file")"
expect 1 verify
expect 1 clear --all
grep -q 'cannot be looked into' out || fail "clear: $(cat out)"
expect 1 doctor
chmod 700 "$(dirname "$file")"
expect 0 clear --all
grep -q '0 entries, 0 B stay' out || fail "clear: $(cat out)"
expect 1 export none.bundle
[ ! -e none.bundle ] || fail "an empty bundle was written"
unset LARDER_DIR

COMP_WORDS=(larder clear --old) COMP_CWORD=2
_larder
[ "${COMPREPLY[*]}" = --older-than ] || fail "bash completes clear --old to ${COMPREPLY[*]}"

"$larder" help --man >larder.1 || fail "man page"
if command -v man >/dev/null; then
  man --warnings -E UTF-8 -l -Tutf8 -Z ./larder.1 >/dev/null 2>err || fail "man: $(cat err)"
  [ ! -s err ] || fail "man warns: $(cat err)"
fi
echo "the command behaves"
