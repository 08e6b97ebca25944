// Every allocation fails in turn: a request then works, or says that memory is out; nothing is lost or half
// done.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>

#include "larder/memory.hpp"
#include "memory/testing.hpp"

namespace {

// Counts down over the allocations of this thread; the one that finds 0 fails. Negative: none does.
thread_local int allocations_left = -1;

void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
  if (allocations_left >= 0 && allocations_left-- == 0) throw std::bad_alloc();
  const std::size_t rounded = (size / alignment + 1) * alignment;  // as aligned_alloc wants it
  if (void* const memory = std::aligned_alloc(alignment, rounded)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// Not inlined, lest compilers take the malloc of one for the mismatched partner of the other.
[[gnu::noinline]] void* operator new(std::size_t size) {
  return allocate(size);
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
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

namespace larder {
namespace {

using testing::numbered;

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

TEST(OutOfMemory, ARequestWorksOrSaysSoWhateverAllocationFails) {
  for (const char* policy : {"lru", "sampled", "s3fifo", "gdsf"}) {
    MemoryTier<std::string> tier({.bytes_max = 20'000, .policy = policy});
    int key = 0;
    int worked = 0;
    const int failures = fail_each_allocation([&] {
      const int left = allocations_left;
      allocations_left = -1;
      const Recipe recipe = numbered(++key);
      for (int i = 0; i < 5; ++i) static_cast<void>(tier.get_or_make(numbered(1000 + i), [] { return "x"; }));
      allocations_left = left;
      try {
        const auto held = tier.get_or_make(recipe, [] { return std::string(100, 'x'); });
        EXPECT_TRUE(held || held.error().code == Code::out_of_resources);
        worked += held ? 1 : 0;
        return held.has_value();
      } catch (const std::bad_alloc&) {
        return false;
      }
    });
    EXPECT_GT(failures, 2);
    EXPECT_GT(worked, 0);
    EXPECT_EQ(tier.stats().making, 0u);
    tier.clear();
    EXPECT_EQ(tier.stats().bytes, 0u);
    EXPECT_EQ(tier.stats().interned, 0u);
    EXPECT_EQ(tier.stats().unreclaimed, 0u);
  }
}

// Every call is counted: one more than without the failure, and none after a second one.
TEST(OutOfMemory, EmptiesTheTierAndCallsTheMakerExactlyOnceMore) {
  for (const int failures : {0, 1, 2, 3}) {
    MemoryTier<int> tier;
    for (int i = 0; i < 10; ++i) static_cast<void>(tier.get_or_make(numbered(i), [&] { return i; }));
    int calls = 0;
    Answer answer;
    const auto make = [&]() -> Result<int> {
      EXPECT_EQ(tier.stats().count, calls == 0 ? 10u : 0u);
      if (++calls <= failures) return fail(Code::out_of_resources, "device memory");
      return 100;
    };
    const auto held = tier.get_or_make(numbered(10), make, {}, &answer);
    EXPECT_EQ(calls, failures == 0 ? 1 : 2);
    EXPECT_EQ(held.has_value(), failures < 2);
    EXPECT_EQ(answer.outcome, failures < 2 ? Outcome::made : Outcome::failed);
    EXPECT_EQ(tier.stats().count, failures == 0 ? 11u : failures == 1 ? 1u : 0u);
    EXPECT_EQ(tier.totals()[Counter::retries], failures == 0 ? 0u : 1u);
  }
}

TEST(OutOfMemory, InterningWorksOrThrowsWhateverAllocationFails) {
  MemoryTier<int> tier;
  int key = 0;
  const int failures = fail_each_allocation([&] {
    const int left = std::exchange(allocations_left, -1);
    const Recipe recipe = numbered(++key);
    allocations_left = left;
    try {
      return static_cast<bool>(tier.intern(recipe));
    } catch (const std::bad_alloc&) {
      return false;
    }
  });
  EXPECT_GT(failures, 0);
  tier.clear();
  EXPECT_EQ(tier.stats().bytes, 0u);
  EXPECT_EQ(tier.stats().interned, 0u);
}

TEST(OutOfMemory, OpeningATierWorksOrThrowsWhateverAllocationFails) {
  EXPECT_GT(fail_each_allocation([] {
              try {
                MemoryTier<int> tier;
                return true;
              } catch (const std::bad_alloc&) {
                return false;
              }
            }),
            2);
}

}  // namespace
}  // namespace larder
