// Lets allocations with `operator new` fail in tests. It replaces the operators of the whole program, so one
// file of a test program includes it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace larder::testing {

// Counts down over the allocations of this thread; the one that finds 0 fails. Negative: none does.
inline thread_local int allocations_left = -1;

inline void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  const std::size_t rounded = (size / alignment + 1) * alignment;  // as aligned_alloc wants it
  if (void* const memory = std::aligned_alloc(alignment, rounded)) return memory;
  throw std::bad_alloc();
}

// Runs `body` with the first allocation failing, then the second, until none of them failed. Returns how many
// did.
template <typename Body>
int fail_each_allocation(Body body) {
  for (int n = 0;; ++n) {
    allocations_left = n;
    const bool worked = body();
    const bool all_done = allocations_left >= 0;
    allocations_left = -1;
    if (all_done) {
      EXPECT_TRUE(worked);
      return n;
    }
  }
}

}  // namespace larder::testing

// Not inlined, lest compilers take the malloc of one for the mismatched partner of the other.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return larder::testing::allocate(size);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return larder::testing::allocate(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return std::malloc(size != 0 ? size : 1);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment,
                                     const std::nothrow_t&) noexcept {
  const auto bytes = static_cast<std::size_t>(alignment);
  return std::aligned_alloc(bytes, (size / bytes + 1) * bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
