// What is freed when, and what bounds what is not: records of recipes that come and go, with and without
// readers that hold everything back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "larder/memory.hpp"
#include "memory/testing.hpp"

namespace larder {
namespace {

using testing::numbered;

constexpr std::uint64_t kBytesMax = 1u << 20;
// What may wait for a sweep: it is due from bytes_max / 64 on, or from so many records.
constexpr std::uint64_t kWaitingMax = kBytesMax / 64 + 1024;

TEST(Reclaim, FreesRecipesThatAreInternedAndDropped) {
  MemoryTier<int> tier({.bytes_max = kBytesMax});
  std::uint64_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    static_cast<void>(tier.intern(numbered(i)));
    most = std::max(most, tier.stats().unreclaimed_bytes);
  }
  EXPECT_LE(most, kWaitingMax);
  EXPECT_EQ(tier.stats().interned, 0u);
}

TEST(Reclaim, FreesTheRecipesOfProductsThatLeftBefore) {
  MemoryTier<int> tier({.bytes_max = kBytesMax});
  std::uint64_t most = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<InternedRecipe<int>> recipes;
    for (int i = 0; i < 1000; ++i) {
      recipes.push_back(tier.intern(numbered(i)));
      ASSERT_TRUE(tier.get_or_make(recipes.back(), [&] { return i; }));
    }
    tier.clear();
    EXPECT_EQ(tier.stats().unreclaimed, 0u);
    while (!recipes.empty()) {
      recipes.pop_back();
      most = std::max(most, tier.stats().unreclaimed_bytes);
    }
  }
  EXPECT_LE(most, kWaitingMax);
}

TEST(Reclaim, FreesTheRecipesOfObjectsHeldLongerThanKept) {
  MemoryTier<int> tier({.bytes_max = kBytesMax});
  std::vector<Held<int>> held;
  for (int i = 0; i < 1000; ++i) held.push_back(*tier.get_or_make(numbered(i), [&] { return i; }));
  tier.clear();
  std::uint64_t most = 0;
  while (!held.empty()) {
    held.pop_back();
    most = std::max(most, tier.stats().unreclaimed_bytes);
  }
  EXPECT_LE(most, kWaitingMax);
  EXPECT_EQ(tier.stats().interned, 0u);
}

TEST(Reclaim, FreesTheRecipesOfMakersThatFail) {
  MemoryTier<int> tier({.bytes_max = kBytesMax});
  std::uint64_t most = 0;
  for (int i = 0; i < 5000; ++i) {
    EXPECT_FALSE(
        tier.get_or_make(numbered(i), [&]() -> Result<int> { return fail(Code::maker_failed, "no"); }));
    most = std::max(most, tier.stats().unreclaimed_bytes);
  }
  EXPECT_LE(most, kWaitingMax);
  EXPECT_EQ(tier.stats().interned, 0u);
}

// While a reader holds everything back, recipes that no product is kept for come and go all the same.
TEST(Reclaim, KeepsNothingOfUnkeptRecipesUnderAGuard) {
  MemoryTier<int> tier({.bytes_max = kBytesMax});
  Guard guard(tier);
  for (int i = 0; i < 10'000; ++i) {
    static_cast<void>(tier.intern(numbered(i)));
    static_cast<void>(
        tier.get_or_make(numbered(i), [&]() -> Result<int> { return fail(Code::maker_failed, "no"); }));
  }
  EXPECT_LE(tier.stats().unreclaimed_bytes, kWaitingMax);
}

// The bound that memory.hpp states for a guard that never ends.
TEST(Reclaim, BoundsWhatIsKeptAndWhatWaitsUnderAGuardThatNeverEnds) {
  constexpr std::uint64_t kWeight = 4000;
  MemoryTier<int> tier({.bytes_max = kBytesMax}, [](const int&) { return kWeight; });
  Guard guard(tier);
  std::uint64_t most = 0;
  std::uint64_t full = 0;
  for (int i = 0; i < 20'000; ++i) {
    Answer answer;
    ASSERT_TRUE(tier.get_or_make(
        numbered(i), [&] { return i; }, {}, &answer));
    const MemoryStats stats = tier.stats();
    most = std::max(most, stats.bytes + stats.unreclaimed_bytes);
    if (i == 10'000) {
      EXPECT_EQ(answer.reason, Reason::out_of_space);
      full = stats.unreclaimed_bytes;
      tier.clear();
    }
  }
  EXPECT_GE(full, kBytesMax) << "the test must have filled it";
  EXPECT_LE(most, 2 * kBytesMax + kWeight + 64 * 1024) << "with arrays of the table";
  EXPECT_LE(tier.stats().interned, 2 * kBytesMax / kWeight + 1);
}

// Words of the table are used again; a table that grows for ever, or is replaced again and again, would wait
// in the bin too.
TEST(Reclaim, UsesTheWordsOfItsTableAgain) {
  MemoryTier<int> tier({.bytes_max = kBytesMax});
  std::vector<InternedRecipe<int>> stay;
  for (int i = 0; i < 500; ++i) stay.push_back(tier.intern(numbered(-1 - i)));
  Guard guard(tier);
  const std::uint64_t before = tier.stats().unreclaimed_bytes;
  std::vector<InternedRecipe<int>> passing(100);
  for (int i = 0; i < 50'000; ++i) passing[static_cast<std::size_t>(i * 37 % 100)] = tier.intern(numbered(i));
  EXPECT_LE(tier.stats().unreclaimed_bytes, before + 9000) << "one more doubling of the table";
  for (int i = 0; i < 500; ++i) {
    EXPECT_EQ(tier.intern(numbered(-1 - i)), stay[static_cast<std::size_t>(i)]) << i;
  }
}

}  // namespace
}  // namespace larder
