#!/bin/sh
# larder_reuse(target) in a project that found larder where it is installed. Usage: cmake_test.sh BUILD_DIR CLANG
set -eu
build=$1
clang=$2
if [ "$clang" = missing ]; then
  echo "SKIP: $3 or its clang is not installed"
  exit 77
fi
folder=$(mktemp -d)
scratch="$folder/with a blank"
mkdir "$scratch"
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$scratch/prefix" >"$scratch/log"
mkdir "$scratch/source"
cat >"$scratch/source/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user C CXX)
find_package(larder REQUIRED)
add_executable(user user.c more.cpp)
target_compile_options(user PRIVATE -O2)
larder_reuse(user)
END
cat >"$scratch/source/user.c" <<'END'
#include <stdio.h>
int tree(int n) { return n < 2 ? n : tree(n - 1) + tree(n - 2); }
int main(void) { printf("%d\n", tree(30)); return 0; }
END
cat >"$scratch/source/more.cpp" <<'END'
extern "C" long more(int n) { return n < 2 ? n : more(n - 1) + more(n - 2); }
END
# The C++ sources are another compiler's here, and stay as they are.
cmake -S "$scratch/source" -B "$scratch/build" -DCMAKE_C_COMPILER="$clang" -DCMAKE_CXX_COMPILER=g++ -DCMAKE_VERBOSE_MAKEFILE=ON -DCMAKE_PREFIX_PATH="$scratch/prefix" >>"$scratch/log"
cmake --build "$scratch/build" >>"$scratch/log"
grep -q 'pass-plugin.*user.c' "$scratch/log" || { echo "no plugin for C" >&2; exit 1; }
! grep -q 'pass-plugin.*more.cpp' "$scratch/log" || { echo "clang's plugin for g++" >&2; exit 1; }
[ "$("$scratch/build/user")" = 832040 ] || { echo "wrong result" >&2; exit 1; }
nm "$scratch/build/user" | grep -q larder_reuse_slow || { echo "no table in it" >&2; exit 1; }
if cmake -S "$scratch/source" -B "$scratch/gcc" -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/log" 2>&1; then
  echo "gcc was accepted" >&2
  exit 1
fi
grep -q 'plugin for clang' "$scratch/log" || { echo "no reason given: $(cat "$scratch/log")" >&2; exit 1; }
