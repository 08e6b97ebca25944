// The policies of the seeds, step by step as they describe them.
#include <gtest/gtest.h>

#include <vector>

#include "policy/budget.hpp"
#include "policy/clock.hpp"
#include "policy/grouped.hpp"
#include "policy/lru.hpp"
#include "policy/lru_vector.hpp"

namespace larder::policy {
namespace {

Entry in_group(std::uint64_t group) {
  return {.key = group, .weight = 1, .cost = 1, .group = group};
}

// Takes victims until none is left.
std::vector<Id> pop_all(Policy& policy) {
  std::vector<Id> order;
  for (Id id; (id = policy.victim()) != kNoId; order.push_back(id)) policy.remove(id, Departure::evicted);
  return order;
}

TEST(Lru, EvictsInOrderOfInsertionWithoutReuse) {
  Lru lru;
  for (Id id : {4U, 2U, 7U, 1U}) lru.insert(id, {});
  EXPECT_EQ(pop_all(lru), (std::vector<Id>{4, 2, 7, 1}));
}

TEST(Lru, EvictsInOrderOfLastUseWithReuse) {
  Lru lru;
  for (Id id : {4U, 2U, 7U, 1U}) lru.insert(id, {});
  lru.touch(2);
  lru.touch(4);
  lru.touch(2);
  EXPECT_EQ(pop_all(lru), (std::vector<Id>{7, 1, 4, 2}));
}

TEST(Lru, PeeksAtItsVictimWithoutLosingIt) {
  Lru lru;
  lru.insert(0, {});
  lru.insert(1, {});
  EXPECT_EQ(lru.victim(), 0U);
  EXPECT_EQ(lru.victim(), 0U);
  EXPECT_EQ(lru.size(), 2U);
  lru.remove(0, Departure::evicted);
  EXPECT_EQ(lru.victim(), 1U);
}

TEST(Lru, IsEmptyAfterClear) {
  Budget budget({.limits = {.bytes = 100}, .policy = Kind::lru});
  for (Id id = 0; id < 10; ++id) budget.insert(id, {.key = id, .weight = 10, .cost = 1, .group = 0});
  for (Id id = 0; id < 10; ++id) budget.erase(id);
  EXPECT_EQ(budget.victim_above(0), kNoId);
  EXPECT_EQ(budget.stats().bytes, 0U);
  EXPECT_EQ(budget.stats().evicted_entries, 0U);
}

TEST(Lru, PutsAnEntryBackWhereItStoodWhenItsPinGoes) {
  Lru lru;
  for (Id id = 0; id < 4; ++id) lru.insert(id, {});
  lru.pin(0);
  lru.pin(2);
  EXPECT_EQ(lru.victim(), 1U);
  lru.unpin(0);
  EXPECT_EQ(lru.victim(), 0U) << "the coldest before and after";
  lru.unpin(2);
  EXPECT_EQ(pop_all(lru), (std::vector<Id>{0, 1, 2, 3}));
}

TEST(Lru, BecomesSecondChanceWhereTouchesComeLate) {
  Lru lru;
  for (Id id = 0; id < 3; ++id) lru.insert(id, {});
  lru.touch(0, {.when = 1});
  EXPECT_EQ(lru.victim(), 1U);
}

TEST(LruVector, ReplacesTheHighestNumber) {
  LruVector lru;
  for (Id id = 0; id < 4; ++id) lru.insert(id, {});
  lru.touch(0);
  lru.touch(1);
  EXPECT_EQ(pop_all(lru), (std::vector<Id>{2, 3, 0, 1}));
}

TEST(LruVector, SearchesFromTheMostRecentOnwards) {
  LruVector lru;
  for (Id id = 0; id < 5; ++id) lru.insert(id, {});
  lru.touch(3);
  std::vector<Id> seen;
  lru.find([&](Id id) {
    seen.push_back(id);
    return false;
  });
  EXPECT_EQ(seen, (std::vector<Id>{3, 4, 0, 1, 2}));
  EXPECT_EQ(lru.find([](Id id) { return id == 1; }), 1U);
  EXPECT_EQ(lru.find([](Id id) { return id == 9; }), kNoId);
}

TEST(LruVector, KeepsTheTrueOrderWhereTouchesComeLate) {
  LruVector lru;
  for (Id id = 0; id < 3; ++id) lru.insert(id, {});
  lru.touch(1, {.when = 3});
  lru.touch(0, {.when = 2});
  EXPECT_EQ(lru.victim(), 0U) << "last used at 2, the others at 3";
}

// The algorithm of the reactive build cache: a line per entry, a used bit, one number for the next line to
// check.
class Clock : public testing::Test {
 protected:
  // Places a build as the algorithm says; which one it replaced.
  Id place(Id build) {
    Id replaced = kNoId;
    if (clock_.size() == 4) {
      replaced = clock_.victim();
      clock_.remove(replaced, Departure::evicted);
    }
    clock_.insert(build, {});
    return replaced;
  }

  ClockLines clock_;
};

TEST_F(Clock, FillsItsLinesInOrder) {
  for (Id build = 10; build < 14; ++build) EXPECT_EQ(place(build), kNoId);
  ASSERT_EQ(clock_.lines(), 4U);
  for (std::size_t line = 0; line < 4; ++line) {
    EXPECT_EQ(clock_.at(line), 10 + line);
    EXPECT_FALSE(clock_.is_used(line)) << "placing is no access";
  }
  EXPECT_EQ(clock_.next(), 0U);
}

TEST_F(Clock, ReplacesTheLineAtTheNextIndexWhenItsBitIsClear) {
  for (Id build = 10; build < 14; ++build) place(build);
  EXPECT_EQ(place(14), 10U);
  EXPECT_EQ(clock_.at(0), 14U) << "the very line";
  EXPECT_EQ(clock_.next(), 1U);
}

TEST_F(Clock, ClearsASetBitAndChecksTheNextIndex) {
  for (Id build = 10; build < 14; ++build) place(build);
  clock_.touch(10);
  clock_.touch(11);
  EXPECT_TRUE(clock_.is_used(0));
  EXPECT_EQ(place(14), 12U);
  EXPECT_FALSE(clock_.is_used(0));
  EXPECT_FALSE(clock_.is_used(1));
  EXPECT_EQ(clock_.at(2), 14U);
  EXPECT_EQ(clock_.next(), 3U);
}

TEST_F(Clock, GoesRoundWhenEveryBitIsSet) {
  for (Id build = 10; build < 14; ++build) place(build);
  for (Id build = 10; build < 14; ++build) clock_.touch(build);
  EXPECT_EQ(place(14), 10U) << "all bits cleared on the way, back at index 0";
  EXPECT_EQ(clock_.next(), 1U);
  EXPECT_EQ(place(15), 11U);
}

TEST_F(Clock, KeepsWhatIsUsedAgainAndAgain) {
  for (Id build = 10; build < 14; ++build) place(build);
  for (Id build = 20; build < 60; ++build) {
    clock_.touch(13);
    EXPECT_NE(place(build), 13U);
  }
}

TEST(Grouped, EvictsTheMostRecentOfTheLeastRecentPage) {
  Grouped grouped;
  for (Id id = 0; id < 3; ++id) grouped.insert(id, in_group(1));
  for (Id id = 3; id < 6; ++id) grouped.insert(id, in_group(2));
  EXPECT_EQ(pop_all(grouped), (std::vector<Id>{2, 1, 0, 5, 4, 3}));
}

TEST(Grouped, MakesAPageRecentWhenAnyOfItsEntriesIsUsed) {
  Grouped grouped;
  for (Id id = 0; id < 2; ++id) grouped.insert(id, in_group(1));
  for (Id id = 2; id < 4; ++id) grouped.insert(id, in_group(2));
  grouped.touch(0);
  EXPECT_EQ(pop_all(grouped), (std::vector<Id>{3, 2, 0, 1}));
}

TEST(Grouped, MovesAReusedEntryToThePageThatUsesIt) {
  Grouped grouped;
  for (Id id = 0; id < 3; ++id) grouped.insert(id, in_group(1));
  grouped.insert(3, in_group(2));
  grouped.touch(2, {.group = 2});
  EXPECT_EQ(pop_all(grouped), (std::vector<Id>{1, 0, 2, 3}))
      << "taken off the old page's stack, on top of the new";
}

TEST(Grouped, ForgetsAPageThatHoldsNothing) {
  Grouped grouped;
  grouped.insert(0, in_group(1));
  grouped.insert(1, in_group(2));
  grouped.touch(0, {.group = 2});
  grouped.insert(2, in_group(1));
  EXPECT_EQ(pop_all(grouped), (std::vector<Id>{0, 1, 2})) << "page 1 came back as the most recent";
}

}  // namespace
}  // namespace larder::policy
