#!/bin/bash
# yaml-cpp, from Debian's source package, configured by CMake as it is: `larder build` makes what ninja makes, to the
# byte; then touching everything runs nothing, and a comment in a header compiles and links nothing; what
# was removed, and a second checkout, compile nothing.
# Usage: build_real_project.sh LARDER
# shellcheck disable=SC2015 # what fails either way fails
set -u
larder=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export HOME=$work XDG_RUNTIME_DIR=$work/run CCACHE_DISABLE=1
unset MAKEFLAGS NINJA_STATUS CMAKE_CXX_COMPILER_LAUNCHER CMAKE_C_COMPILER_LAUNCHER
for tool in cmake ninja g++; do
  command -v $tool >/dev/null || { echo "SKIP: no $tool" && exit 77; }
done

fail() {
  echo "FAIL: $*" >&2
  tail -n 20 log >&2
  exit 1
}
# The machine's own package sources, asked for source packages, without changing them.
mkdir -p apt/lists/partial apt/parts
debian=/etc/apt/sources.list.d/debian.sources
[ ! -r $debian ] || sed 's/^Types:.*/Types: deb-src/' $debian >apt/parts/sources.sources
[ ! -r /etc/apt/sources.list ] || sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >apt/parts/sources.list
apt() {
  apt-get -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/parts" \
    -o Dir::State::Lists="$work/apt/lists" -o APT::Sandbox::User="$(id -un)" -qq "$@"
}
if ! apt update >log 2>&1 || ! apt source --download-only yaml-cpp >>log 2>&1; then
  echo "SKIP: the source package is not to be had: $(tail -n 1 log)"
  exit 77
fi
mkdir src
tar -xf yaml-cpp_*.orig.tar.* --strip-components=1 -C src || fail "unpack"
configure() {
  cmake -G Ninja -S src -B out -DCMAKE_BUILD_TYPE=None -DYAML_CPP_BUILD_TESTS=OFF -DYAML_BUILD_SHARED_LIBS=ON >>log 2>&1 ||
    fail "configure"
}
sums() { find out -type f \( -name '*.o' -o -name '*.so*' -o -perm /100 \) -print0 | sort -z | xargs -0 sha256sum; }

configure
ninja -C out >>log 2>&1 || fail "ninja"
sums >by_ninja
rm -rf out
configure
"$larder" build -C out >log 2>&1 || fail "larder build"
sums >by_larder
[ -s by_ninja ] && cmp by_ninja by_larder || fail "other outputs than ninja's"
commands=$(sed -n 's/^\[\([0-9]*\)\/.*/\1/p' log | tail -n 1)

# CMake looks after its globs at each start; that is all there is to do.
quiet() {
  "$larder" build -C out >log 2>&1 || fail "$1"
  ! grep -v 'Re-checking globbed directories' log | grep -q '^\[' || fail "$1: something ran"
}
quiet "again"
find src out -path '*/.larder' -prune -o -type f -exec touch {} +
quiet "touched"
echo '// a comment' >>src/include/yaml-cpp/node/node.h
"$larder" build -C out >log 2>&1 || fail "a comment"
compiled=$(grep -c 'Building CXX' log)
[ "$compiled" -ge 1 ] || fail "a comment: nothing was compiled"
! grep -q 'Linking' log || fail "a comment: something was linked"
sums >after
cmp by_ninja after || fail "a comment changed an output"
quiet "after the comment"

# All that is compiled comes back, bit by bit; only links run.
restores() {
  "$larder" build -C "$2" >log 2>&1 || fail "$1"
  ! grep '^\[' log | grep -v '(restored)$' | grep -q 'Building CXX' || fail "$1: something was compiled"
  restored=$(grep -c '(restored)$' log)
  [ "$restored" -ge 20 ] || fail "$1: only $restored steps were restored"
}
rm -rf out
configure
restores "restored" out
sums >restored_sums
cmp by_ninja restored_sums || fail "what was restored is not what ninja makes"
# Another checkout: with the root left out of what is made.
mkdir one two
for each in one two; do
  (cd $each && cp -r ../src . && mkdir .git && cmake -G Ninja -S src -B out -DCMAKE_BUILD_TYPE=Debug \
    -DYAML_CPP_BUILD_TESTS=OFF -DCMAKE_CXX_FLAGS="-ffile-prefix-map=$PWD=. -gno-record-gcc-switches" >>../log 2>&1) ||
    fail "configure $each"
done
"$larder" build -C one/out >log 2>&1 || fail "one checkout"
restores "another checkout" two/out
cmp one/out/libyaml-cppd.a two/out/libyaml-cppd.a || fail "the second checkout's library is another"

echo "yaml-cpp: $commands commands cold, outputs as ninja's; none when all is touched; $compiled compiled and nothing linked for a comment; $restored restored in a second checkout"
