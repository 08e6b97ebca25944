// Two recipes with one key are two recipes.
#include <gtest/gtest.h>

#include <string>

#include "larder/memory.hpp"
#include "memory/testing.hpp"
#include "recipe/key_hash.hpp"

namespace larder {
namespace {

using testing::numbered;

TEST(Collision, NeverGivesTheProductOfAnotherRecipe) {
  const TestHash same_for_all(TestHash::same_for_all);
  MemoryTier<int> tier({.count_max = 60});
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) {
      const auto held = tier.get_or_make(numbered(i), [&] { return i; });
      ASSERT_TRUE(held);
      ASSERT_EQ(**held, i);
      Guard guard(tier);
      int* const seen = guard.get(numbered(i));
      ASSERT_NE(seen, nullptr);
      ASSERT_EQ(*seen, i);
      ASSERT_EQ(guard.get(numbered(i + 100)), nullptr);
    }
  }
  EXPECT_EQ(tier.intern(numbered(1)).key(), tier.intern(numbered(2)).key());
  EXPECT_FALSE(tier.intern(numbered(1)) == tier.intern(numbered(2)));
}

}  // namespace
}  // namespace larder
