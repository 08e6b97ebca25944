#!/bin/sh
# larder_reuse(target) in a project that found larder where it is installed. Usage: cmake_test.sh BUILD_DIR CLANG
blank="with a blank "
# shellcheck source=plugin/tests/prologue.sh
. "$(dirname "$0")/prologue.sh"
build=$subject
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
grep -q 'pass-plugin.*user.c' "$scratch/log" || fail "no plugin for C"
! grep -q 'pass-plugin.*more.cpp' "$scratch/log" || fail "clang's plugin for g++"
[ "$("$scratch/build/user")" = 832040 ] || fail "wrong result"
nm "$scratch/build/user" | grep -q larder_reuse_slow || fail "no table in it"
if cmake -S "$scratch/source" -B "$scratch/gcc" -DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++ -DCMAKE_PREFIX_PATH="$scratch/prefix" >"$scratch/log" 2>&1; then
  echo "gcc was accepted" >&2
  exit 1
fi
grep -q 'plugin for clang' "$scratch/log" || fail "no reason given: $(cat "$scratch/log")"
