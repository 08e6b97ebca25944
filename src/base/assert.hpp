// LARDER_ASSERT checks what only a bug in larder can break; it stays on in release builds.
// Never reachable from user input or from what is on disk.
#pragma once

namespace larder {

[[noreturn]] void assertion_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace larder

#define LARDER_ASSERT(expression) \
  (static_cast<bool>(expression) ? void(0) : ::larder::assertion_failed(#expression, __FILE__, __LINE__))
