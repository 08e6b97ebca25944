#include "larder/memory.hpp"

#include <gtest/gtest.h>

#include <string>

#include "memory/testing.hpp"

namespace larder {
namespace {

using testing::named;

TEST(MemoryTier, MakesOnceAndThenHits) {
  MemoryTier<std::string> tier;
  int calls = 0;
  const auto make = [&] {
    ++calls;
    return std::string("product");
  };
  const auto recipe = tier.intern(named("a"));
  for (int i = 0; i < 3; ++i) {
    const auto held = tier.get_or_make(recipe, make);
    ASSERT_TRUE(held);
    EXPECT_EQ(**held, "product");
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(tier.totals()[Outcome::memory_hit], 2u);
  EXPECT_EQ(tier.totals()[Outcome::made], 1u);
}

}  // namespace
}  // namespace larder
