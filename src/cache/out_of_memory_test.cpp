// Every allocation fails in turn: what takes away and what ends works, or says that memory is out.
#include <gtest/gtest.h>

#include <chrono>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "base/failing_allocations.hpp"
#include "cache/testing.hpp"

namespace larder {
namespace {

using testing::allocations_left;
using testing::fail_each_allocation;
using testing::options_in;
using testing::recipe_of;
using testing::ScratchDirectory;

Outcome ask(Cache& cache, const Recipe& recipe) {
  const auto made = cache.get_or_make(recipe, [] { return std::string(5000, 'x'); });
  return made ? made->outcome : Outcome::failed;
}

TEST(CacheOutOfMemory, ClearWorksOrThrowsWhateverAllocationFails) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  for (const char* program : {"", "a program with a longer name than fits a string"}) {
    const int failures = fail_each_allocation([&] {
      const int left = std::exchange(allocations_left, -1);
      const Recipe on_disk = recipe_of("on the disk");
      const Recipe waiting = recipe_of("waiting");
      ask(cache, on_disk);
      EXPECT_TRUE(cache.flush(testing::kLong));
      ask(cache, waiting);
      allocations_left = left;
      bool worked = true;
      try {
        cache.clear({.program = program});
      } catch (const std::bad_alloc&) {
        worked = false;
      }
      const int still_left = std::exchange(allocations_left, -1);
      EXPECT_NE(ask(cache, on_disk), Outcome::failed);
      cache.clear();
      EXPECT_EQ(ask(cache, on_disk), Outcome::made);
      EXPECT_EQ(ask(cache, waiting), Outcome::made);
      EXPECT_TRUE(cache.flush(testing::kLong));
      EXPECT_EQ(cache.stats().pending_bytes, 0u);
      allocations_left = still_left;
      return worked;
    });
    EXPECT_GT(failures, 0);
  }
}

TEST(CacheOutOfMemory, TheEndComesWhateverAllocationFails) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.write_behind_delay = std::chrono::hours(1);
  options.close_time = std::chrono::nanoseconds(0);
  int n = 0;
  const int failures = fail_each_allocation([&] {
    const int left = std::exchange(allocations_left, -1);
    std::optional<Cache> cache = Cache::open(options);
    ++n;
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(ask(*cache, recipe_of(std::to_string(n) + "." + std::to_string(i))), Outcome::made);
    allocations_left = left;
    cache.reset();
    return true;
  });
  EXPECT_GT(failures, 0);
}

}  // namespace
}  // namespace larder
