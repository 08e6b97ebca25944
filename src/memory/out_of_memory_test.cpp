// Every allocation fails in turn: a request then works, or says that memory is out; nothing is lost or half
// done.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/failing_allocations.hpp"
#include "larder/memory.hpp"
#include "memory/testing.hpp"
#include "policy/budget.hpp"
#include "policy/kind.hpp"

namespace larder {
namespace {

using testing::allocations_left;
using testing::fail_each_allocation;
using testing::numbered;

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

// From the end of the maker on, every allocation of every insertion fails in turn.
TEST(OutOfMemory, AnInsertionIsDoneOrNotDoneWhateverAllocationFails) {
  for (const policy::Named& policy : policy::kinds()) {
    SCOPED_TRACE(std::string(policy::name(policy.kind)));
    MemoryTier<int> tier({.count_max = 150, .policy = policy::name(policy.kind)});
    int failures = 0;
    const auto ask = [&](int i, int left) {
      const auto make = [&] {
        // Dear enough for the shadows of `adaptive`.
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(10);
        while (policy.kind == policy::Kind::adaptive && std::chrono::steady_clock::now() < end) {
        }
        allocations_left = left;
        return i;
      };
      Answer answer;
      const MakeOptions how{.pinned = i % 50 == 0, .group = static_cast<std::uint64_t>(i % 7)};
      const auto recipe = tier.intern(numbered(i));
      const auto held = tier.get_or_make(recipe, make, how, &answer);
      allocations_left = -1;
      EXPECT_TRUE(held && **held == i);
      EXPECT_EQ(static_cast<bool>(tier.get(recipe)), answer.reason != Reason::out_of_resources);
      return answer.reason != Reason::out_of_resources;
    };
    for (int i = 0; i < 300; ++i) {
      for (int left = 0; !ask(i, left); ++left) ++failures;
      EXPECT_EQ(tier.stats().count, std::min<std::size_t>(static_cast<std::size_t>(i) + 1, 150));
    }
    EXPECT_GT(failures, 10);
    for (int i = 600; i-- > 0;) EXPECT_TRUE(ask(i, -1));
    EXPECT_EQ(tier.stats().count, 150u);
    tier.clear();
    EXPECT_EQ(tier.stats().count, 0u);
    EXPECT_EQ(tier.stats().bytes, 0u);
    EXPECT_EQ(tier.stats().interned, 0u);
    EXPECT_EQ(tier.stats().unreclaimed, 0u);
  }
}

// It then names the same victims as one that never lacked memory.
TEST(OutOfMemory, ABudgetInsertsOrChangesNothing) {
  for (const policy::Named& kind : policy::kinds()) {
    SCOPED_TRACE(std::string(policy::name(kind.kind)));
    const policy::BudgetOptions options{.limits = {.bytes = 100'000, .entries = 400}, .policy = kind.kind};
    policy::Budget budget(options);
    policy::Budget twin(options);
    // What a shadow missed for want of memory, `adaptive` has not learned.
    const bool has_equal = kind.kind != policy::Kind::adaptive;
    std::vector<policy::Id> free;
    policy::Id fresh = 0;
    int failures = 0;
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const policy::Entry entry{.key = (i * i + i) % 997,
                                .weight = 100 + i % 13 * 50,
                                .cost = 10'000 + i % 7 * 1000,
                                .group = i % 5};
      if (i % 997 == 0) continue;
      for (policy::Id id; (id = budget.victim({entry.weight, 1})) != policy::kNoId;) {
        if (has_equal) {
          ASSERT_EQ(twin.victim({entry.weight, 1}), id);
          twin.evict(id);
        }
        budget.evict(id);
        free.push_back(id);
      }
      if (free.empty()) free.push_back(fresh++);
      const policy::Id id = free.back();
      free.pop_back();
      for (int left = 0; !budget.contains(id); ++left) {
        const policy::Tick now = budget.now();
        const std::uint64_t bytes = budget.stats().bytes;
        const std::size_t ghosts = budget.ghosts().size();
        allocations_left = left;
        try {
          budget.insert(id, entry);
          allocations_left = -1;
        } catch (const std::bad_alloc&) {
          ++failures;
          EXPECT_FALSE(budget.contains(id));
          EXPECT_EQ(budget.now(), now);
          EXPECT_EQ(budget.stats().bytes, bytes);
          EXPECT_EQ(budget.ghosts().size(), ghosts);
        }
      }
      if (has_equal) twin.insert(id, entry);
      if (const policy::Id asked = budget.curious(); asked != policy::kNoId) budget.touch(asked);
    }
    EXPECT_GT(failures, 10);
    while (budget.stats().entries != 0) budget.evict(budget.victim_above(0));
    EXPECT_EQ(budget.stats().bytes, 0u);
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
