#!/bin/sh
# Installs larder into a scratch prefix and builds a user's project from it, by find_package and by pkg-config.
# Usage: consumer.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1
build=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/log"
cmake -S "$source/tests/consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" >>"$scratch/log"
cmake --build "$scratch/build" >>"$scratch/log"
by_cmake=$("$scratch/build/consumer_cpp")

libdir=$(dirname "$(find "$scratch/prefix" -name larder.pc)")/..
export PKG_CONFIG_PATH="$libdir/pkgconfig"
# shellcheck disable=SC2046 # the flags are several words
c++ -std=c++20 "$source/tests/consumer/main.cpp" $(pkg-config --cflags --libs larder) -o "$scratch/consumer_pc"
by_pkg_config=$(LD_LIBRARY_PATH="$libdir" "$scratch/consumer_pc")

if [ "$by_cmake" != "$by_pkg_config" ]; then
  echo "find_package printed '$by_cmake', pkg-config '$by_pkg_config'" >&2
  exit 1
fi
# The pages that come with it are whole.
python3 "$source/scripts/check_links.py" "$scratch/prefix/share/doc"
# Nothing but larder's own names leaves the library.
foreign=$(nm -D --defined-only --demangle "$libdir/liblarder.so" | awk '{$1=$2=""; print}' |
  grep -vE '^ *(larder_|(typeinfo( name)? for |vtable for |guard variable for |TLS (init|wrapper) function for )?larder::|LARDER_)' || true)
if [ -n "$foreign" ]; then
  printf 'foreign names leave liblarder.so:\n%s\n' "$foreign" >&2
  exit 1
fi
