// What every policy promises its owner (policy.hpp), held against each of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "policy/kind.hpp"
#include "policy/policy.hpp"
#include "policy/sample.hpp"

namespace larder::policy {
namespace {

class EveryPolicy : public testing::TestWithParam<Kind> {
 protected:
  std::unique_ptr<Policy> make_one(std::uint64_t seed = 1, Limits limits = {.bytes = 1000, .entries = 0}) {
    return make(GetParam(), {.seed = seed, .limits = limits});
  }
};

INSTANTIATE_TEST_SUITE_P(Contract, EveryPolicy, testing::ValuesIn([] {
                           std::vector<Kind> all;
                           for (const Named& one : kinds()) all.push_back(one.kind);
                           return all;
                         }()),
                         [](const auto& one) { return std::string(name(one.param)); });

Entry entry(std::uint64_t key, std::uint64_t weight = 10, std::uint64_t cost = 100, std::uint64_t group = 0) {
  return {.key = mix(key), .weight = weight, .cost = cost, .group = group};
}

TEST_P(EveryPolicy, NamesNobodyWhenItIsEmpty) {
  const auto policy = make_one();
  EXPECT_EQ(policy->victim(), kNoId);
  EXPECT_EQ(policy->curious(), kNoId);
  EXPECT_EQ(policy->size(), 0U);
}

TEST_P(EveryPolicy, NamesTheSameVictimUntilSomethingChanges) {
  const auto policy = make_one();
  for (Id id = 0; id < 100; ++id) policy->insert(id, entry(id, 1 + id % 7, 1 + id % 5, id % 3));
  for (Id id = 0; id < 100; id += 3) policy->touch(id);
  const Id first = policy->victim();
  EXPECT_EQ(policy->victim(), first);
  EXPECT_EQ(policy->victim(), first);
  EXPECT_TRUE(policy->contains(first));
}

TEST_P(EveryPolicy, EmptiesToTheLastWhenEachVictimIsRemoved) {
  const auto policy = make_one();
  for (Id id = 0; id < 200; ++id) policy->insert(id, entry(id, id, id * 7, id % 9));
  for (Id id = 0; id < 200; id += 2) policy->touch(id);
  std::set<Id> left;
  for (Id id; (id = policy->victim()) != kNoId;) {
    ASSERT_TRUE(left.insert(id).second) << "named twice: " << id;
    policy->remove(id, Departure::evicted);
  }
  EXPECT_EQ(left.size(), 200U);
  EXPECT_EQ(policy->size(), 0U);
}

TEST_P(EveryPolicy, NeverNamesAPinnedEntry) {
  const auto policy = make_one();
  for (Id id = 0; id < 60; ++id) policy->insert(id, entry(id, 10, 100, id % 4));
  for (Id id = 0; id < 60; id += 3) policy->pin(id);
  for (Id id; (id = policy->victim()) != kNoId; policy->remove(id, Departure::evicted)) EXPECT_NE(id % 3, 0U);
  EXPECT_EQ(policy->size(), 20U);
  for (Id id = 0; id < 60; id += 3) policy->unpin(id);
  for (Id id; (id = policy->victim()) != kNoId;) policy->remove(id, Departure::evicted);
  EXPECT_EQ(policy->size(), 0U);
}

TEST_P(EveryPolicy, KeepsWhatItKnowsOfAPinnedEntry) {
  const auto policy = make_one();
  policy->insert(0, entry(0));
  policy->touch(0);
  policy->touch(0);
  const std::uint32_t uses = policy->uses(0);
  policy->pin(0);
  policy->touch(0);
  policy->unpin(0);
  EXPECT_EQ(policy->uses(0), uses == 1 ? 1 : uses + 1);
}

TEST_P(EveryPolicy, LosesAPinnedEntryThatIsErased) {
  const auto policy = make_one();
  for (Id id = 0; id < 3; ++id) policy->insert(id, entry(id));
  policy->pin(1);
  policy->remove(1, Departure::erased);
  EXPECT_FALSE(policy->contains(1));
  EXPECT_FALSE(policy->is_pinned(1));
  policy->insert(1, entry(9));
  for (Id id; (id = policy->victim()) != kNoId;) policy->remove(id, Departure::evicted);
  EXPECT_EQ(policy->size(), 0U);
}

TEST_P(EveryPolicy, TakesWeightsAndCostsOfNothing) {
  const auto policy = make_one();
  for (Id id = 0; id < 50; ++id) policy->insert(id, entry(id, 0, 0));
  for (Id id = 0; id < 50; id += 2) policy->touch(id);
  for (Id id; (id = policy->victim()) != kNoId;) policy->remove(id, Departure::evicted);
  EXPECT_EQ(policy->size(), 0U);
}

TEST_P(EveryPolicy, TakesAnEntryBiggerThanAllItsLimits) {
  const auto policy = make_one();
  policy->insert(0, entry(0, ~std::uint64_t{0} / 4, ~std::uint64_t{0}));
  policy->insert(1, entry(1, 1, ~std::uint64_t{0}));
  policy->touch(0, {.uses = ~std::uint32_t{0}});
  policy->touch(0, {.uses = ~std::uint32_t{0}});
  for (Id id; (id = policy->victim()) != kNoId;) policy->remove(id, Departure::evicted);
  EXPECT_EQ(policy->size(), 0U);
}

TEST_P(EveryPolicy, WorksWithoutLimits) {
  const auto policy = make_one(1, {});
  for (Id id = 0; id < 100; ++id) policy->insert(id, entry(id));
  for (Id id; (id = policy->victim()) != kNoId;) policy->remove(id, Departure::evicted);
  EXPECT_EQ(policy->size(), 0U);
}

TEST_P(EveryPolicy, MovesItsClockWithInsertsAndWithTouchesAsTheyHappen) {
  const auto policy = make_one();
  policy->insert(0, entry(0));
  policy->touch(0);
  EXPECT_EQ(policy->now(), 2U);
  policy->touch(0, {.when = 1});
  EXPECT_EQ(policy->now(), 2U) << "told late";
  policy->advance_to(10);
  policy->advance_to(5);
  EXPECT_EQ(policy->now(), 10U);
}

TEST_P(EveryPolicy, EndsASecondLookAfterEachEntryWasToldOfOnce) {
  const auto policy = make_one();
  for (Id id = 0; id < 64; ++id) policy->insert(id, entry(id, 10, 100, id % 5));
  std::vector<bool> news(64, true);
  int looks = 0;
  Id id = policy->victim();
  for (; news[id]; id = policy->victim()) {
    policy->touch(id, {.when = policy->now()});
    news[id] = false;
    ASSERT_LE(++looks, 64);
  }
  EXPECT_TRUE(policy->contains(id));
}

TEST_P(EveryPolicy, SparesWhatWasUsedWhileAnotherWasNot) {
  if (GetParam() == Kind::round_robin) return;  // looks at no use, by design
  const auto policy = make_one();
  policy->insert(0, entry(0, 10, 100, 7));
  policy->insert(1, entry(1, 10, 100, 8));
  policy->insert(2, entry(2, 10, 100, 9));
  for (int i = 0; i < 3; ++i) {
    policy->touch(0, {.when = 3});
    policy->touch(2, {.when = 3});
  }
  EXPECT_EQ(policy->victim(), 1U);
}

TEST_P(EveryPolicy, DoesTheSameWithTheSameSeed) {
  const auto play = [this](std::uint64_t seed) {
    const auto policy = make_one(seed);
    Random random(3);
    std::vector<Id> victims;
    for (Id id = 0; id < 100; ++id)
      policy->insert(id, entry(id, 1 + random.next(30), random.next(1000), id % 7));
    for (std::uint64_t key = 100; key < 2000; ++key) {
      policy->touch(random.next(100));
      const Id id = policy->victim();
      victims.push_back(id);
      policy->remove(id, Departure::evicted);
      policy->insert(id, entry(key, 1 + random.next(30), random.next(1000), key % 7));
    }
    return victims;
  };
  EXPECT_EQ(play(1), play(1));
}

// Anything an owner may do, in any order, against nothing but a list of what is present.
TEST_P(EveryPolicy, KeepsItsPromisesUnderAnythingAnOwnerMayDo) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const auto policy =
        make_one(seed, {.bytes = seed % 3 == 0 ? 0U : 500U, .entries = seed % 2 == 0 ? 20U : 0U});
    Random random(seed * 77);
    std::set<Id> present;
    std::set<Id> pinned;
    std::uint64_t key = 0;
    const auto any = [&](const std::set<Id>& ids) {
      return *std::next(ids.begin(), static_cast<std::ptrdiff_t>(random.next(ids.size())));
    };
    for (int step = 0; step < 3000; ++step) {
      const std::uint32_t what = random.next(std::size_t{16});
      if (what < 5 || present.empty()) {
        const Id id = random.next(std::size_t{60});
        if (present.contains(id)) continue;
        const Past past{.uses = random.next(std::size_t{4}),
                        .remembered = random.next(std::size_t{3}),
                        .when = what == 0 ? random.next() % (policy->now() + 2) : kNow,
                        .before = random.next() % (policy->now() + 1)};
        key = random.next(std::size_t{3}) == 0 ? random.next(std::size_t{100}) : key + 1;
        Entry one = entry(key, random.next(std::size_t{60}), random.next(std::size_t{5000}), key % 6);
        // In some runs everything is cheap to make again, in others nothing, in others some is.
        one.is_cheap = seed % 4 == 0 || (seed % 4 == 1 && random.next(std::size_t{2}) == 0);
        policy->insert(id, one, past);
        present.insert(id);
      } else if (what < 9) {
        const Touch touch{.when = what == 5 ? random.next() % (policy->now() + 2) : kNow,
                          .uses = random.next(std::size_t{3}),
                          .group = what == 6 ? random.next(std::size_t{6}) : Touch::kSameGroup};
        policy->touch(any(present), touch);
      } else if (what < 13) {
        const Id id = policy->victim();
        ASSERT_EQ(id == kNoId, present.size() == pinned.size());
        if (id == kNoId) continue;
        ASSERT_TRUE(present.contains(id) && !pinned.contains(id));
        ASSERT_EQ(policy->victim(), id);
        if (what == 12) continue;
        policy->remove(id, Departure::evicted);
        present.erase(id);
      } else if (what == 13) {
        const Id id = any(present);
        policy->remove(id, Departure::erased);
        present.erase(id);
        pinned.erase(id);
      } else if (what == 14) {
        const Id id = any(present);
        pinned.contains(id) ? policy->unpin(id) : policy->pin(id);
        pinned.contains(id) ? (void)pinned.erase(id) : (void)pinned.insert(id);
      } else {
        policy->reweigh(any(present), random.next(std::size_t{60}), random.next(std::size_t{5000}));
        if (const Id id = policy->curious(); id != kNoId) {
          ASSERT_TRUE(present.contains(id));
        }
      }
      ASSERT_EQ(policy->size(), present.size());
      if (what % 4 != 0) continue;
      for (const Id id : policy->likely()) ASSERT_TRUE(present.contains(id) && !pinned.contains(id));
    }
    EXPECT_GT(policy->memory_bytes(), 0U);
  }
}

TEST(Kinds, HaveNamesThatLeadBackToThem) {
  std::set<std::string_view> names;
  for (const Named& one : kinds()) {
    EXPECT_EQ(from_name(one.name), one.kind);
    EXPECT_EQ(name(one.kind), one.name);
    EXPECT_TRUE(names.insert(one.name).second);
    EXPECT_NE(make(one.kind), nullptr);
  }
  EXPECT_EQ(from_name("lru2"), std::nullopt);
  EXPECT_EQ(names.size(), 11U);
}

}  // namespace
}  // namespace larder::policy
