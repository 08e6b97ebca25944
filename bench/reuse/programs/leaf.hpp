// A leaf of some fifty nanoseconds.
#pragma once

#include "program.hpp"

namespace {

__attribute__((noinline, annotate("reuse"))) int leaf(int number, int seed) {
  unsigned state = static_cast<unsigned>(number) * 2654435761u + static_cast<unsigned>(seed);
  for (int i = 0; i < 40; ++i) state = (state ^ state >> 15) * 2246822519u + 1;
  return static_cast<int>(state) + EXECUTED(number);
}

}  // namespace
