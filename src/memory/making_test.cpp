// Single flight: who makes, who waits, what they get.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "larder/events.hpp"
#include "larder/memory.hpp"
#include "memory/testing.hpp"

namespace larder {
namespace {

using testing::named;

using namespace std::chrono_literals;

void run_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (auto& thread : threads) thread.join();
}

// Returns once so many requests wait for a making in `tier`.
template <typename T>
void await_waiters(const MemoryTier<T>& tier, std::uint32_t count) {
  while (tier.stats().waiting < count) std::this_thread::yield();
}

TEST(Making, MakesOnceForThreeHundredThreads) {
  MemoryTier<std::string> tier;
  std::atomic<int> calls{0};
  std::array<const std::string*, 300> got{};
  run_threads(300, [&](int i) {
    const auto held = tier.get_or_make(named("a"), [&] {
      ++calls;
      std::this_thread::sleep_for(5ms);
      return std::string("product");
    });
    ASSERT_TRUE(held);
    got[static_cast<std::size_t>(i)] = held->get();
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(std::set<const std::string*>(got.begin(), got.end()).size(), 1u);
  const CounterTotals totals = tier.totals();
  EXPECT_EQ(totals[Outcome::made], 1u);
  EXPECT_EQ(totals[Outcome::joined] + totals[Outcome::memory_hit], 299u);
}

TEST(Making, GivesTheSameObjectToAllWhoWait) {
  MemoryTier<std::string> tier;
  std::atomic<int> calls{0};
  std::array<Held<std::string>, 8> got;
  std::array<Answer, 8> answers;
  run_threads(8, [&](int i) {
    const auto place = static_cast<std::size_t>(i);
    auto held = tier.get_or_make(
        named("a"),
        [&] {
          ++calls;
          await_waiters(tier, 7);
          return std::string("product");
        },
        {}, &answers[place]);
    ASSERT_TRUE(held);
    got[place] = std::move(*held);
  });
  EXPECT_EQ(calls, 1);
  for (const auto& each : got) EXPECT_EQ(each.get(), got[0].get());
  EXPECT_EQ(std::ranges::count(answers, Outcome::made, &Answer::outcome), 1);
  EXPECT_EQ(std::ranges::count(answers, Outcome::joined, &Answer::outcome), 7);
}

TEST(Making, GivesTheSameErrorToAllWhoWait) {
  MemoryTier<int> tier;
  std::atomic<int> calls{0};
  std::atomic<int> same{0};
  run_threads(8, [&](int) {
    const auto held = tier.get_or_make(named("a"), [&]() -> Result<int> {
      ++calls;
      await_waiters(tier, 7);
      return fail(Code::maker_failed, "line 3: no");
    });
    if (!held && held.error().code == Code::maker_failed && held.error().what == "line 3: no") ++same;
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(same, 8);
}

TEST(Making, GivesTheSameExceptionToAllWhoWait) {
  struct Bad : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  MemoryTier<int> tier;
  std::atomic<int> calls{0};
  std::atomic<int> same{0};
  run_threads(8, [&](int) {
    try {
      static_cast<void>(tier.get_or_make(named("a"), [&]() -> int {
        ++calls;
        await_waiters(tier, 7);
        throw Bad("line 3: no");
      }));
    } catch (const Bad& bad) {
      if (bad.what() == std::string("line 3: no")) ++same;
    }
  });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(same, 8);
}

TEST(Making, ForgetsAFailure) {
  MemoryTier<int> tier;
  const auto recipe = tier.intern(named("a"));
  EXPECT_FALSE(tier.get_or_make(recipe, []() -> Result<int> { return fail(Code::maker_failed, "no"); }));
  EXPECT_THROW(static_cast<void>(tier.get_or_make(recipe, []() -> int { throw std::logic_error("no"); })),
               std::logic_error);
  const auto held = tier.get_or_make(recipe, [] { return 5; });
  ASSERT_TRUE(held);
  EXPECT_EQ(**held, 5);
}

// One maker fails for now; of those who waited, one makes and the others join or hit.
void expect_one_more_try(const std::function<int()>& fail_for_now) {
  MemoryTier<int> tier;
  std::atomic<int> calls{0};
  std::atomic<int> failed{0};
  std::atomic<int> good{0};
  run_threads(8, [&](int) {
    try {
      const auto held = tier.get_or_make(named("a"), [&]() -> Result<int> {
        if (++calls > 1) return 5;
        await_waiters(tier, 7);
        const int code = fail_for_now();
        return fail(static_cast<Code>(code), "not now");
      });
      held ? ++good : ++failed;
    } catch (const TransientFailure&) {
      ++failed;
    }
  });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(failed, 1);
  EXPECT_EQ(good, 7);
}

TEST(Making, LetsOneWaiterTryAgainAfterATransientError) {
  expect_one_more_try([] { return static_cast<int>(Code::transient); });
}

TEST(Making, LetsOneWaiterTryAgainAfterATransientException) {
  expect_one_more_try([]() -> int { throw TransientFailure("not now"); });
}

TEST(Making, BoundsTheTriesOfAProductThatAlwaysFailsForNow) {
  MemoryTier<int> tier({.retries_max = 2});
  std::atomic<int> calls{0};
  std::atomic<int> failed{0};
  run_threads(20, [&](int) {
    const auto held = tier.get_or_make(named("a"), [&]() -> Result<int> {
      // Three makings are joined by whoever is left; nobody joins a fourth.
      await_waiters(tier, static_cast<std::uint32_t>(20 - std::min(++calls, 20)));
      return fail(Code::transient, "not now");
    });
    if (!held && held.error().code == Code::transient) ++failed;
  });
  EXPECT_EQ(failed, 20);
  EXPECT_EQ(calls, 3);
}

TEST(Making, TakesOverFromAThreadThatVanished) {
  MemoryTier<int> tier;
  std::latch made{1};
  struct Shared {
    MemoryTier<int>& tier;
    std::latch& begun;
  } shared{tier, made};
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void* argument) -> void* {
                  auto& of = *static_cast<Shared*>(argument);
                  static_cast<void>(of.tier.get_or_make(named("a"), [&]() -> int {
                    of.begun.count_down();
                    await_waiters(of.tier, 1);
                    pthread_exit(nullptr);
                  }));
                  return nullptr;
                },
                &shared),
            0);
  made.wait();
  const auto held = tier.get_or_make(named("a"), [] { return 7; });
  pthread_join(thread, nullptr);
  ASSERT_TRUE(held);
  EXPECT_EQ(**held, 7);
}

TEST(Making, EmptiesTheTierAndCallsTheMakerOnceMoreWhenResourcesAreOut) {
  MemoryTier<int> tier;
  for (const char* name : {"a", "b", "c"}) static_cast<void>(tier.get_or_make(named(name), [] { return 1; }));
  int calls = 0;
  const auto held = tier.get_or_make(named("large"), [&]() -> Result<int> {
    if (++calls == 1) return fail(Code::out_of_resources, "device memory");
    EXPECT_EQ(tier.stats().count, 0u);
    return 5;
  });
  ASSERT_TRUE(held);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(tier.stats().count, 1u);
}

TEST(Making, DestroysWhatItEmptiesBeforeTheMakerIsCalledOnceMore) {
  MemoryTier<std::shared_ptr<int>> tier;
  const auto watched = std::make_shared<int>(1);
  static_cast<void>(tier.get_or_make(named("a"), [&] { return std::shared_ptr<int>(watched); }));
  EXPECT_EQ(watched.use_count(), 2);
  int calls = 0;
  static_cast<void>(tier.get_or_make(named("large"), [&]() -> std::shared_ptr<int> {
    if (++calls == 1) throw std::bad_alloc();
    EXPECT_EQ(watched.use_count(), 1);
    return std::make_shared<int>(2);
  }));
  EXPECT_EQ(calls, 2);
}

TEST(Making, GivesUpAfterTheSecondTimeResourcesAreOut) {
  MemoryTier<int> tier;
  int calls = 0;
  const auto held = tier.get_or_make(named("a"), [&]() -> Result<int> {
    ++calls;
    return fail(Code::out_of_resources, "device memory");
  });
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::out_of_resources);
  EXPECT_EQ(calls, 2);

  calls = 0;
  EXPECT_THROW(static_cast<void>(tier.get_or_make(named("a"),
                                                  [&]() -> int {
                                                    ++calls;
                                                    throw std::bad_alloc();
                                                  })),
               std::bad_alloc);
  EXPECT_EQ(calls, 2);
}

TEST(Making, LetsAMakerAskForOtherProducts) {
  MemoryTier<int> tier;
  const auto held = tier.get_or_make(named("sum"), [&] {
    return **tier.get_or_make(named("a"), [] { return 2; }) +
           **tier.get_or_make(named("b"), [] { return 3; });
  });
  ASSERT_TRUE(held);
  EXPECT_EQ(**held, 5);
  EXPECT_EQ(tier.stats().count, 3u);
}

TEST(Making, RefusesToWaitForItself) {
  MemoryTier<int> tier;
  Code seen{};
  const auto held = tier.get_or_make(named("a"), [&] {
    const auto inner = tier.get_or_make(named("a"), [] { return 1; });
    if (!inner) seen = inner.error().code;
    return 2;
  });
  EXPECT_EQ(seen, Code::would_deadlock);
  EXPECT_EQ(**held, 2);
}

TEST(Making, RefusesAChainThatLeadsBackToItself) {
  MemoryTier<int> outer_tier;
  MemoryTier<std::string> other_tier;
  Code seen{};
  const auto held = outer_tier.get_or_make(named("a"), [&] {
    return static_cast<int>((*other_tier.get_or_make(named("b"), [&] {
                              const auto again = outer_tier.get_or_make(named("a"), [] { return 1; });
                              if (!again) seen = again.error().code;
                              return std::string("four");
                            }))->size());
  });
  EXPECT_EQ(seen, Code::would_deadlock);
  EXPECT_EQ(**held, 4);
}

TEST(Making, RefusesACycleThroughTwoThreads) {
  MemoryTier<int> tier;
  std::latch both{2};
  std::atomic<int> refused{0};
  const auto ask = [&](const char* mine, const char* theirs) {
    const auto held = tier.get_or_make(named(mine), [&]() -> Result<int> {
      both.arrive_and_wait();
      const auto other = tier.get_or_make(named(theirs), [] { return 1; });
      if (other) return **other + 1;
      if (other.error().code == Code::would_deadlock) ++refused;
      return 10;
    });
    ASSERT_TRUE(held);
  };
  std::thread thread(ask, "a", "b");
  ask("b", "a");
  thread.join();
  EXPECT_EQ(refused, 1);
}

TEST(Making, HoldsNoLockWhileMaking) {
  MemoryTier<int> tier;
  const auto held = tier.get_or_make(named("slow"), [&] {
    std::thread other([&] {
      EXPECT_TRUE(tier.get_or_make(named("quick"), [] { return 1; }));
      tier.clear();
    });
    other.join();
    return 2;
  });
  EXPECT_EQ(**held, 2);
}

TEST(Making, MeasuresCostWithoutWhatOthersMade) {
  MemoryTier<int> tier;
  Answer outer;
  Answer inner;
  static_cast<void>(tier.get_or_make(
      named("outer"),
      [&] {
        static_cast<void>(tier.get_or_make(
            named("inner"),
            [] {
              std::this_thread::sleep_for(40ms);
              return 1;
            },
            {}, &inner));
        return 2;
      },
      {}, &outer));
  EXPECT_GE(inner.cost, 40ms);
  EXPECT_LT(outer.cost, 30ms);
}

TEST(Making, SaysHowEachRequestWasAnswered) {
  MemoryTier<int> tier;
  const auto recipe = tier.intern(named("a"));
  Answer answer;
  const auto ask = [&] {
    const auto make = [] {
      std::this_thread::sleep_for(100us);
      return 1;
    };
    return static_cast<bool>(tier.get_or_make(recipe, make, {}, &answer));
  };
  EXPECT_TRUE(ask());
  EXPECT_EQ(answer.outcome, Outcome::made);
  EXPECT_EQ(answer.reason, Reason::absent);
  EXPECT_TRUE(ask());
  EXPECT_EQ(answer.outcome, Outcome::memory_hit);
  EXPECT_GT(answer.cost, 90us);
  EXPECT_TRUE(tier.erase(recipe));
  EXPECT_TRUE(ask());
  EXPECT_EQ(answer.outcome, Outcome::made);
  EXPECT_EQ(answer.reason, Reason::cleared);
}

TEST(Making, YieldsAnEventForEachRequestWhenListenedTo) {
  MemoryTier<int> tier;
  std::vector<Event> events;
  auto subscription = subscribe([&](const Event& event) {
    EXPECT_EQ(event.tier, Tier::memory);
    EXPECT_EQ(event.recipe_kind, "test");
    events.push_back(event);
  });
  ASSERT_TRUE(subscription);
  const auto recipe = tier.intern(named("a"));
  static_cast<void>(tier.get_or_make(recipe, [] { return 1; }));
  static_cast<void>(tier.get_or_make(named("a"), [] { return 1; }));
  static_cast<void>(tier.get(recipe));
  {
    Guard guard(tier);
    static_cast<void>(guard.get(recipe));
  }
  subscription->reset();
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].kind, EventKind::stored);
  EXPECT_EQ(events[1].outcome, Outcome::made);
  EXPECT_EQ(events[1].key, recipe.key());
  EXPECT_EQ(events[1].bytes, sizeof(int));
  for (std::size_t i = 2; i < 5; ++i) {
    EXPECT_EQ(events[i].kind, EventKind::request);
    EXPECT_EQ(events[i].outcome, Outcome::memory_hit);
    EXPECT_EQ(events[i].saved, events[1].cost);
  }
}

TEST(Making, RefusesARecipeOfAnotherTier) {
  MemoryTier<int> tier;
  MemoryTier<int> other;
  const auto foreign = other.intern(named("a"));
  const auto held = tier.get_or_make(foreign, [] { return 1; });
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Code::invalid_argument);
  EXPECT_FALSE(tier.get_or_make(InternedRecipe<int>(), [] { return 1; }));
  EXPECT_FALSE(tier.erase(foreign));
}

}  // namespace
}  // namespace larder
