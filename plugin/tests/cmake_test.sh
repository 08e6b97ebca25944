#!/bin/sh
# larder_reuse(target) in a project that found larder where it is installed. Usage: cmake_test.sh BUILD_DIR CLANG
set -eu
build=$1
clang=$2
if [ "$clang" = missing ]; then
  echo "SKIP: $3 or its clang is not installed"
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/log"
mkdir "$scratch/source"
cat >"$scratch/source/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user C)
find_package(larder REQUIRED)
add_executable(user user.c)
target_compile_options(user PRIVATE -O2)
larder_reuse(user)
END
cat >"$scratch/source/user.c" <<'END'
#include <stdio.h>
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
int main(void) { printf("%d\n", tree(30)); return 0; }
END
cmake -S "$scratch/source" -B "$scratch/build" -DCMAKE_C_COMPILER="$clang" -DCMAKE_PREFIX_PATH="$scratch/prefix" >>"$scratch/log"
cmake --build "$scratch/build" >>"$scratch/log"
[ "$("$scratch/build/user")" = 832040 ] || { echo "wrong result" >&2; exit 1; }
nm "$scratch/build/user" | grep -q larder_reuse_slow || { echo "no table in it" >&2; exit 1; }
if cmake -S "$scratch/source" -B "$scratch/gcc" -DCMAKE_C_COMPILER=gcc -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/log" 2>&1; then
  echo "gcc was accepted" >&2
  exit 1
fi
grep -q 'plugin for clang' "$scratch/log" || { echo "no reason given: $(cat "$scratch/log")" >&2; exit 1; }
