#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace larder {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
  std::fprintf(stderr, "larder: assertion failed: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace larder
