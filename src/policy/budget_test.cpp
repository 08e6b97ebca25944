#include "policy/budget.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace larder::policy {
namespace {

Entry weighing(std::uint64_t key, std::uint64_t weight, std::uint64_t cost = 1) {
  return {.key = key, .weight = weight, .cost = cost, .group = 0};
}

// Makes room and inserts, as a tier would; the ids that left.
std::vector<Id> keep(Budget& budget, Id id, std::uint64_t weight, std::uint64_t cost = 1) {
  std::vector<Id> left;
  for (Id out; (out = budget.victim({weight, 1})) != kNoId; left.push_back(out)) budget.evict(out);
  if (budget.fits({weight, 1})) budget.insert(id, weighing(id, weight, cost));
  return left;
}

TEST(Budget, EvictsJustEnough) {
  Budget budget({.limits = {.bytes = 100}, .policy = Kind::lru});
  for (Id id = 0; id < 10; ++id) EXPECT_TRUE(keep(budget, id, 10).empty());
  EXPECT_EQ(keep(budget, 10, 25), (std::vector<Id>{0, 1, 2}));
  EXPECT_EQ(budget.stats().bytes, 95U);
  EXPECT_EQ(budget.stats().evicted_entries, 3U);
  EXPECT_EQ(budget.stats().evicted_bytes, 30U);
  EXPECT_EQ(budget.stats().evicted_cost_ns, 3U);
}

TEST(Budget, EvictsToTheLowWaterMarkOnceItIsFull) {
  Budget budget({.limits = {.bytes = 100}, .policy = Kind::lru, .low_water = 0.5});
  for (Id id = 0; id < 10; ++id) EXPECT_TRUE(keep(budget, id, 10).empty());
  EXPECT_EQ(keep(budget, 10, 10), (std::vector<Id>{0, 1, 2, 3, 4}));
  for (Id id = 0; id < 4; ++id) EXPECT_TRUE(keep(budget, id, 10).empty());
}

TEST(Budget, CapsEntriesEvenWhenTheyWeighNothing) {
  Budget budget({.limits = {.entries = 3}, .policy = Kind::lru});
  for (Id id = 0; id < 3; ++id) EXPECT_TRUE(keep(budget, id, 0).empty());
  EXPECT_EQ(keep(budget, 3, 0), (std::vector<Id>{0}));
  EXPECT_EQ(budget.stats().entries, 3U);
}

TEST(Budget, RefusesWhatExceedsTheWholeBudget) {
  Budget budget({.limits = {.bytes = 100}});
  EXPECT_EQ(budget.admits(100, 5), Reason::none);
  EXPECT_EQ(budget.admits(101, 5), Reason::too_large);
  EXPECT_EQ(budget.stats().refused_too_large, 1U);
}

TEST(Budget, RefusesWhatIsCheaperToMakeThanToLoad) {
  Budget budget({.limits = {.bytes = 100}});
  EXPECT_EQ(budget.admits(10, 999, 1000), Reason::too_cheap);
  EXPECT_EQ(budget.admits(10, 1000, 1000), Reason::none);
  EXPECT_EQ(budget.admits(10, 0, 1000), Reason::none) << "an unknown cost is no reason to refuse";
  EXPECT_EQ(budget.stats().refused_too_cheap, 1U);
}

TEST(Budget, NeverNamesAPinnedEntry) {
  Budget budget({.limits = {.bytes = 30}, .policy = Kind::lru});
  for (Id id = 0; id < 3; ++id) keep(budget, id, 10);
  budget.pin(0);
  EXPECT_EQ(keep(budget, 3, 10), (std::vector<Id>{1}));
  budget.unpin(0);
  EXPECT_EQ(keep(budget, 4, 10), (std::vector<Id>{0})) << "a pin is no use: it is the coldest still";
}

TEST(Budget, SaysWhenPinnedEntriesLeaveNoRoom) {
  Budget budget({.limits = {.bytes = 30}});
  for (Id id = 0; id < 3; ++id) keep(budget, id, 10);
  budget.pin(0);
  budget.pin(2);
  EXPECT_EQ(budget.admits(11, 1), Reason::out_of_space);
  EXPECT_EQ(budget.admits(10, 1), Reason::none);
  EXPECT_EQ(budget.stats().pinned_bytes, 20U);
}

TEST(Budget, CountsMissesThatHadBeenHitsButForAnEviction) {
  Budget budget({.limits = {.bytes = 10}, .policy = Kind::lru});
  EXPECT_EQ(budget.missed(7), Reason::absent);
  keep(budget, 7, 10, 500);
  keep(budget, 8, 10, 900);
  EXPECT_EQ(budget.missed(7), Reason::evicted);
  EXPECT_EQ(budget.missed(9), Reason::absent);
  EXPECT_EQ(budget.stats().ghost_hits, 1U);
  EXPECT_EQ(budget.stats().ghost_cost_ns, 500U);
}

TEST(Budget, CountsTheLargestCostThereIs) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  Budget budget({.limits = {.bytes = 10}, .policy = Kind::lru});
  keep(budget, 7, 10, kMost);
  keep(budget, 8, 10, 900);
  EXPECT_EQ(budget.missed(7), Reason::evicted);
  EXPECT_EQ(budget.stats().ghost_cost_ns, kMost);
  EXPECT_EQ(budget.missed(7), Reason::evicted);
  EXPECT_EQ(budget.stats().ghost_cost_ns, kMost) << "it has come to its end, and does not begin again";
}

TEST(Budget, RemembersFrequencyOverAnEviction) {
  Budget budget({.limits = {.bytes = 10}});
  keep(budget, 7, 10);
  budget.touch(7);
  budget.touch(7);
  EXPECT_EQ(budget.uses(7), 3U);
  keep(budget, 8, 10);
  keep(budget, 7, 10);
  EXPECT_EQ(budget.uses(7), 4U);
}

TEST(Budget, ForgetsWhatIsErased) {
  Budget budget({.limits = {.bytes = 10}});
  keep(budget, 7, 10);
  budget.erase(7);
  EXPECT_EQ(budget.missed(7), Reason::absent);
  EXPECT_EQ(budget.stats().bytes, 0U);
}

TEST(Budget, CarriesItsMemoryOverARestart) {
  Budget before({.limits = {.bytes = 100}});
  for (Id id = 0; id < 50; ++id) keep(before, id, 10);
  Budget after({.limits = {.bytes = 100}});
  before.ghosts().for_each([&](const Ghost& ghost) { after.remember(ghost); });
  EXPECT_EQ(after.ghosts().size(), 40U);
  before.ghosts().for_each([&](const Ghost& ghost) { EXPECT_EQ(after.missed(ghost.key), Reason::evicted); });
}

TEST(Budget, FollowsAWeightThatChanges) {
  Budget budget({.limits = {.bytes = 100}, .policy = Kind::lru});
  keep(budget, 0, 10);
  keep(budget, 1, 10);
  budget.reweigh(1, 95, 1);
  EXPECT_EQ(budget.stats().bytes, 105U);
  EXPECT_EQ(budget.victim(), 0U);
  budget.evict(0);
  EXPECT_EQ(budget.victim(), kNoId);
}

TEST(Budget, EmptiesToAPressureMark) {
  Budget budget({.limits = {.bytes = 100}, .policy = Kind::lru});
  for (Id id = 0; id < 10; ++id) keep(budget, id, 10);
  for (Id id; (id = budget.victim_above(25)) != kNoId;) budget.evict(id);
  EXPECT_EQ(budget.stats().entries, 2U);
  for (Id id; (id = budget.victim_above(0)) != kNoId;) budget.evict(id);
  EXPECT_EQ(budget.stats().entries, 0U);
}

}  // namespace
}  // namespace larder::policy
