// What must hold whatever the input: a fuzzer sees the abort.
#pragma once

#include <cstdlib>

inline void demand(bool holds) {
  if (!holds) std::abort();
}
