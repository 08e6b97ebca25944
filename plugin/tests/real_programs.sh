#!/bin/sh
# Programs that nobody here wrote, from Debian's source packages: built with and without the plugin, their own test
# suites pass, and what they print is the same to the bit. Says what the plugin cost in compile time and in text; ROUNDS
# in the environment (1) says how often each source is compiled for that.
# Usage: real_programs.sh LARDER CLANG   (77: no such clang, or the sources are not to be had)
# shellcheck disable=SC2015 # what fails here ends the test, whichever part of a line it is
# shellcheck source=plugin/tests/prologue.sh
. "$(dirname "$0")/prologue.sh"
larder=$subject

# The machine's own package sources, asked for source packages, without changing them.
mkdir -p apt/lists/partial apt/parts
debian=/etc/apt/sources.list.d/debian.sources
[ ! -r $debian ] || sed 's/^Types:.*/Types: deb-src/' $debian >apt/parts/sources.sources
[ ! -r /etc/apt/sources.list ] || sed -n 's/^deb /deb-src /p' /etc/apt/sources.list >apt/parts/sources.list
apt() {
  apt-get -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$scratch/apt/parts" \
    -o Dir::State::Lists="$scratch/apt/lists" -o APT::Sandbox::User="$(id -un)" -qq "$@"
}
if ! apt update >log 2>&1 || ! apt source --download-only bzip2 zlib >>log 2>&1; then
  echo "SKIP: the source packages are not to be had: $(tail -n 1 log)"
  exit 77
fi

tables() { nm "$1" | grep -c " larder_reuse_site" || true; }
text_of() { size "$1" | awk 'NR == 2 {print $1}'; }

build() { # NAME FLAGS SOURCES: without the plugin, with it, and with every pure function memoized, however cheap
  for kind in plain with all; do
    mkdir -p "$kind/$1"
    tar -xf "$1"_*.orig.tar.* --strip-components=1 -C "$kind/$1"
    CC=$clang
    [ $kind = plain ] || CC="$larder cc $clang"
    LARDER_REUSE_OPTIONS=""
    [ $kind != all ] || LARDER_REUSE_OPTIONS=all=on
    export CC LARDER_REUSE_OPTIONS
    (cd "$kind/$1" && "build_$1") || fail "$1 $kind: $(tail -n 20 "$kind/$1/build.log")"
    [ -s "$kind/$1/outputs" ] && cmp "plain/$1/outputs" "$kind/$1/outputs" || fail "$1: another output with the plugin"
  done
  # shellcheck disable=SC2086 # words
  cost=$(cd "plain/$1" && LARDER_REUSE_OPTIONS="" python3 "$here/compile_cost.py" "${ROUNDS:-1}" "$larder" "$clang" $2 $3)
  echo "$1: its tests pass and its output is the same, with tables in $(tables "with/$1/program") functions and," \
    "where all pure ones have one, in $(tables "all/$1/program");" \
    "compile time $cost;" \
    "text $(text_of "plain/$1/program") -> $(text_of "with/$1/program") bytes"
}

build_bzip2() {
  make CC="$CC" CFLAGS="-O2 -w -D_FILE_OFFSET_BITS=64" libbz2.a bzip2 bzip2recover >>build.log 2>&1 || return 1
  make CC="$CC" test >>build.log 2>&1 || return 1
  cp bzip2 program
  for file in ./*.c; do ./bzip2 -9 <"$file" | sha256sum; ./bzip2 -1 <"$file" | ./bzip2 -d | sha256sum; done >outputs
}

build_zlib() {
  CFLAGS=-O2 ./configure --static >>build.log 2>&1 || return 1
  make libz.a example minigzip >>build.log 2>&1 || return 1
  make teststatic >>build.log 2>&1 || return 1
  grep -q 'zlib test OK' build.log || return 1
  cp minigzip program
  for file in ./*.c; do ./minigzip -9 <"$file" | sha256sum; ./minigzip -1 <"$file" | ./minigzip -d | sha256sum; done >outputs
}

build bzip2 "-O2 -w -D_FILE_OFFSET_BITS=64" \
  "blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c bzip2.c bzip2recover.c"
build zlib "-O2 -w" "adler32.c compress.c crc32.c deflate.c gzclose.c gzlib.c gzread.c gzwrite.c infback.c inffast.c \
  inflate.c inftrees.c trees.c uncompr.c zutil.c"
