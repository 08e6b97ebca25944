#!/bin/bash
# A program that uses OpenGL and knows nothing of larder, under `larder run --gl-layer`: what it links is kept, and it
# says the same as without, cold, warm, and whatever of larder is broken.
# Usage: opengl_test.sh LARDER USER_C LAYER SWAP SUBSTITUTE linked|egl|dlsym|glx
set -u
larder=$1
user=$2
layer=$3
swap=$4
substitute=$5
way=$6
work=$(mktemp -d)
screen=""
# shellcheck disable=SC2317 # called at the end
clean() {
  [ -z "$screen" ] || kill "$screen"
  chmod -R u+rwx "$work"
  rm -rf "$work"
}
trap clean EXIT
export HOME=$work XDG_CACHE_HOME="" XDG_CONFIG_HOME="" XDG_RUNTIME_DIR=$work/run LARDER_DIR=$work/store
# Mesa's own, cold at each start: what is warm is larder's alone.
export MESA_SHADER_CACHE_DIR=$work/mesa LIBGL_ALWAYS_SOFTWARE=1
unset LARDER_DISABLE LD_PRELOAD MESA_SHADER_CACHE_DISABLE MESA_GLSL_CACHE_DISABLE
cd "$work" || exit 2
mkdir -m 700 run

fail() {
  echo "FAIL: $way: $*" >&2
  exit 1
}
skip() {
  echo "skipped: $*"
  exit 77
}
libraries=$(ldconfig -p)
for library in libEGL.so.1 libGL.so.1; do
  grep -q "^\s*$library " <<<"$libraries" || skip "no $library (package libegl1 or libgl1)"
done
link=()
words=("$way" ebspftcworvgxiahk)
case $way in
linked) link=(-DLINKED -l:libEGL.so.1 -l:libGL.so.1) ;;
glx)
  command -v Xvfb >/dev/null || skip "no Xvfb (package xvfb)"
  grep -q '^\s*libX11.so.6 ' <<<"$libraries" || skip "no libX11.so.6"
  Xvfb -displayfd 3 -screen 0 64x64x24 3>display >/dev/null 2>&1 &
  screen=$!
  for _ in $(seq 200); do
    [ -s display ] && break
    sleep 0.05
  done
  DISPLAY=:$(cat display)
  export DISPLAY
  words=("$way" ebspftcworvgxik) # threads and older contexts of EGL's are not for it
  ;;
esac
cc -O1 -w "$user" -o user "${link[@]}" -pthread -ldl || fail "the program does not build"

# run OUTPUT WORDS...: what the report says is in err.
run() {
  rm -rf mesa
  timeout 120 "$larder" run --report --gl-layer -- ./user "${@:2}" >"$1" 2>err
}
same() {
  diff "$1" "$2" >&2 || fail "$3: not what the program says without larder: $(cat err)"
}
expect() {
  grep -q "opengl: .*$1" err || fail "$2: $(cat err)"
}

timeout 120 ./user "${words[@]}" >plain 2>err
code=$?
[ $code = 77 ] && skip "no OpenGL 4.5 this way: $(cat err)"
[ $code = 0 ] || fail "exits with $code without larder: $(cat plain err)"
grep -q '^errors 0$' plain || fail "the program makes errors without larder: $(cat plain)"

run cold "${words[@]}" || fail "cold: $?: $(cat err)"
same plain cold cold
expect " made" cold
run warm "${words[@]}" || fail "warm: $?: $(cat err)"
same plain warm warm
expect " disk_hit" warm
grep -q "opengl: .* made" err && fail "a second run links: $(cat err)"
grep -q "a pipeline that is bound may use it" err || fail "a pipeline's program that is linked again is not left alone: $(cat err)"
grep -q "larder does not know\|not followed" err && fail "left alone: $(cat err)"
cp err report
run none "$way" n || fail "a program without OpenGL: $?"
same <(./user "$way" n) none "a program without OpenGL"

# A fragment shader that is new, with a vertex shader whose compilation was put off.
./user "$way" bsv 0.75 >plain_bs
run tinted "$way" bsv 0.75 || fail "another shader: $?: $(cat err)"
same plain_bs tinted "another shader"
expect " made" "another shader is no miss"

# What else decides: a program of one call, what named strings say, and a source by the older functions.
for part in x i a r; do
  [ "$way$part" = glxa ] && continue
  ./user "$way" $part 0.75 >plain_part
  run tinted "$way" $part 0.75 || fail "another $part: $?: $(cat err)"
  same plain_part tinted "another $part"
  expect " made" "another $part is no miss"
  run tinted "$way" $part 0.75 || fail "another $part again: $?: $(cat err)"
  same plain_part tinted "another $part again"
  expect " disk_hit" "another $part is not kept"
  grep -q "opengl: .* made" err && fail "a second run of $part links: $(cat err)"
done

# The proof that what is kept is used: two products exchanged.
rm -rf store
./user "$way" b 0.75 >plain_other
run first "$way" b || fail "one program: $(cat err)"
run other "$way" b 0.75 || fail "another program: $(cat err)"
"$swap" store opengl-program || fail "there are not two programs"
run swapped "$way" b || fail "exchanged: $?: $(cat err)"
same plain_other swapped "exchanged"
cmp -s first other && fail "the two programs draw the same"

# A binary that the driver refuses is removed and made again.
rm -rf store
./user "$way" c >plain_c
run kept "$way" c || fail "one program: $(cat err)"
"$substitute" store opengl-program factor FACTOR || fail "the binary does not name its uniform"
run refused "$way" c || fail "refused: $?: $(cat err)"
same plain_c refused refused
expect "[( ]1 made" "a refused binary is not made again"
"$larder" stats --json | grep -q '"refused"' || fail "not counted as refused: $("$larder" stats --json)"
run after "$way" c || fail "after it was refused: $?"
same plain_c after "after it was refused"
expect "[( ]1 disk_hit" "what was made again is not kept"

# Whatever is broken.
rm -rf store
echo "not a folder" >store
run broken "${words[@]}" || fail "no store: $?: $(cat err)"
same plain broken "no store"
rm -f store
run again "${words[@]}" || fail "cold again: $?"
find store -type f -size +100c | while read -r file; do
  printf 'XXXX' | dd of="$file" bs=1 seek=90 conv=notrunc 2>/dev/null
done
run damaged "${words[@]}" || fail "a damaged store: $?: $(cat err)"
same plain damaged "a damaged store"
LARDER_DISABLE=1 run disabled "${words[@]}" || fail "switched off: $?"
same plain disabled "switched off"
grep -q "opengl:" err && fail "switched off, and not idle: $(cat err)"
rm -rf mesa # whose own hits lose the log of what warns
LARDER_DISABLE=1 LD_PRELOAD=$layer ./user "${words[@]}" >disabled || fail "switched off in the program: $?"
same plain disabled "switched off in the program"
# Without its own cache on, Mesa gives no binaries.
MESA_SHADER_CACHE_DISABLE=true ./user "$way" bs >plain_none
MESA_SHADER_CACHE_DISABLE=true run none "$way" bs || fail "no binaries: $?"
same plain_none none "no binaries"
expect "bypassed" "no binaries"
grep -q "no program binaries" err || fail "does not say why: $(cat err)"
sed -n 's/^larder: opengl: //p' report
echo "OpenGL $way: the same cold, warm and broken"
