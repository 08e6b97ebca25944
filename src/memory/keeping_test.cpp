// Who stays and who leaves: caps, policies, pressure, families, pins, accounts.
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "larder/memory.hpp"
#include "memory/testing.hpp"

namespace larder {
namespace {

using testing::named;
using testing::numbered;

// Counts how many live.
struct Counted {
  explicit Counted(std::atomic<int>& in) : alive(&in) { ++*alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*alive; }
  std::atomic<int>* alive;
};

template <typename T, typename Key>
bool is_kept(MemoryTier<T>& tier, const Key& recipe) {
  return static_cast<bool>(tier.get(recipe));
}

class EveryPolicy : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryPolicy, EndsWithExactlyTwoOfThreeKeysUnderACapOfTwo) {
  std::atomic<int> alive{0};
  {
    MemoryTier<Counted> tier({.count_max = 2, .policy = GetParam()});
    std::vector<std::thread> threads;
    for (int i = 0; i < 200; ++i) {
      threads.emplace_back([&, i] {
        for (int key = 0; key < 3; ++key) {
          EXPECT_TRUE(tier.get_or_make(numbered((i + key) % 3), [&] { return Counted(alive); }));
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(tier.stats().count, 2u);
    EXPECT_EQ(is_kept(tier, numbered(0)) + is_kept(tier, numbered(1)) + is_kept(tier, numbered(2)), 2);
  }
  EXPECT_EQ(alive, 0);
}

TEST_P(EveryPolicy, NeverKeepsMoreThanItsBytes) {
  constexpr std::uint64_t kBytesMax = 20'000;
  MemoryTier<std::string> tier({.bytes_max = kBytesMax, .policy = GetParam()},
                               [](const std::string& text) { return text.capacity(); });
  for (int i = 0; i < 300; ++i) {
    const auto size = static_cast<std::size_t>(1 + 37 * i % 1500);
    ASSERT_TRUE(tier.get_or_make(numbered(i * i % 71), [&] { return std::string(size, 'x'); }));
    ASSERT_LE(tier.stats().bytes, kBytesMax);
    ASSERT_GT(tier.stats().count, 0u);
  }
  EXPECT_GT(tier.totals()[Counter::evicted], 0u);
}

TEST_P(EveryPolicy, GivesEveryByteBack) {
  MemoryTier<std::string> tier({.bytes_max = 10'000, .policy = GetParam()});
  for (int i = 0; i < 100; ++i) static_cast<void>(tier.get_or_make(numbered(i % 40), [] { return "x"; }));
  EXPECT_GT(tier.stats().bytes, 0u);
  tier.clear();
  const MemoryStats stats = tier.stats();
  EXPECT_EQ(stats.bytes, 0u);
  EXPECT_EQ(stats.count, 0u);
  EXPECT_EQ(stats.interned, 0u);
  EXPECT_EQ(stats.unreclaimed, 0u);
  EXPECT_EQ(stats.unreclaimed_bytes, 0u);
}

INSTANTIATE_TEST_SUITE_P(Memory, EveryPolicy,
                         ::testing::Values("round_robin", "lru", "lru_vector", "clock", "grouped", "sieve",
                                           "s3fifo", "gdsf", "sampled"),
                         [](const auto& policy) { return std::string(policy.param); });

TEST(Keeping, RefusesAPolicyThatDoesNotExist) {
  EXPECT_THROW(MemoryTier<int>({.policy = "astrology"}), std::invalid_argument);
}

TEST(Keeping, KeepsNothingUnderACapSmallerThanOneObject) {
  std::atomic<int> alive{0};
  MemoryTier<Counted> tier({.bytes_max = 1000}, [](const Counted&) { return 2000; });
  std::vector<std::thread> threads;
  for (int i = 0; i < 300; ++i) {
    threads.emplace_back([&, i] {
      const auto held = tier.get_or_make(numbered(i % 5), [&] { return Counted(alive); });
      EXPECT_TRUE(held && (*held)->alive == &alive);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(tier.stats().count, 0u);
  EXPECT_EQ(tier.stats().bytes, 0u);
  EXPECT_EQ(alive, 0);
}

TEST(Keeping, SaysWhyAProductIsNotKept) {
  const auto reason = [](const MemoryOptions& options, MemoryTier<int>::Weigh weigh = {}) {
    MemoryTier<int> tier(options, std::move(weigh));
    Answer answer;
    EXPECT_TRUE(tier.get_or_make(
        named("a"), [] { return 1; }, {}, &answer));
    EXPECT_EQ(answer.outcome, Outcome::made);
    EXPECT_EQ(tier.stats().count, 0u);
    return answer.reason;
  };
  EXPECT_EQ(reason({.bytes_max = 0}), Reason::disabled);
  EXPECT_EQ(reason({.count_max = 0}), Reason::disabled);
  EXPECT_EQ(reason({.bytes_max = 5000}, [](int) { return 5000; }), Reason::too_large);
  EXPECT_EQ(reason({}, [](int) { return ~std::uint64_t{0}; }), Reason::too_large);
  EXPECT_EQ(reason({}, [](int) -> std::uint64_t { throw 1; }), Reason::too_large);
}

TEST(Keeping, SparesWhatWasUsed) {
  MemoryTier<int> tier({.count_max = 3, .policy = "lru"});
  const auto first = tier.intern(numbered(0));
  static_cast<void>(tier.get_or_make(first, [] { return 0; }));
  for (int i = 1; i < 20; ++i) {
    Guard guard(tier);
    ASSERT_NE(guard.get(first), nullptr) << i;
    static_cast<void>(tier.get_or_make(numbered(i), [] { return 0; }));
  }
}

TEST(Keeping, EvictsNothingWhileThereIsRoom) {
  MemoryTier<int> tier({.count_max = 100});
  for (int i = 0; i < 100; ++i) static_cast<void>(tier.get_or_make(numbered(i), [] { return 0; }));
  EXPECT_EQ(tier.stats().count, 100u);
  EXPECT_EQ(tier.totals()[Counter::evicted], 0u);
}

TEST(Keeping, SaysThatAMissWasAHitBeforeAnEviction) {
  MemoryTier<int> tier({.count_max = 1});
  Answer answer;
  static_cast<void>(tier.get_or_make(named("a"), [] { return 1; }));
  static_cast<void>(tier.get_or_make(named("b"), [] { return 1; }));
  static_cast<void>(tier.get_or_make(
      named("a"), [] { return 1; }, {}, &answer));
  EXPECT_EQ(answer.reason, Reason::evicted);
  EXPECT_EQ(tier.totals()[Counter::would_have_hit], 1u);
}

TEST(Keeping, NeverFreesWhatAHandleHolds) {
  std::atomic<int> alive{0};
  MemoryTier<Counted> tier;
  auto held = *tier.get_or_make(named("a"), [&] { return Counted(alive); });
  tier.clear();
  EXPECT_EQ(alive, 1);
  const auto shared = held.to_shared();
  held = {};
  EXPECT_EQ(alive, 1);
  EXPECT_FALSE(is_kept(tier, named("a")));
}

TEST(Keeping, FreesWithTheLastHandle) {
  std::atomic<int> alive{0};
  MemoryTier<Counted> tier;
  auto held = *tier.get_or_make(named("a"), [&] { return Counted(alive); });
  auto copy = held;
  tier.clear();
  held = {};
  EXPECT_EQ(alive, 1);
  copy = {};
  EXPECT_EQ(alive, 0);
}

TEST(Keeping, NeverFreesWhatAGuardShows) {
  std::atomic<int> alive{0};
  MemoryTier<Counted> tier;
  const auto recipe = tier.intern(named("a"));
  static_cast<void>(tier.get_or_make(recipe, [&] { return Counted(alive); }));
  {
    Guard guard(tier);
    Counted* const seen = guard.get(recipe);
    ASSERT_NE(seen, nullptr);
    tier.clear();
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(guard.get(recipe), nullptr);
    EXPECT_EQ(seen->alive, &alive);
    EXPECT_GT(tier.stats().unreclaimed, 0u);
  }
  tier.clear();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(tier.stats().unreclaimed, 0u);
}

TEST(Keeping, KeepsAnotherProductWhileTheOldOneIsStillHeld) {
  MemoryTier<std::string> tier;
  const auto recipe = tier.intern(named("a"));
  const auto old = *tier.get_or_make(recipe, [] { return "old"; });
  tier.erase(recipe);
  const auto fresh = *tier.get_or_make(recipe, [] { return "new"; });
  EXPECT_EQ(*old, "old");
  EXPECT_EQ(*fresh, "new");
  EXPECT_EQ(tier.get(recipe).get(), fresh.get());
}

TEST(Keeping, BoundsWhatAGuardHeldForEverKeepsFromBeingFreed) {
  std::atomic<int> alive{0};
  constexpr std::uint64_t kBytesMax = 4u << 20;
  MemoryTier<Counted> tier({.bytes_max = kBytesMax}, [](const Counted&) { return 100'000; });
  Guard guard(tier);
  Answer answer;
  for (int i = 0; i < 500; ++i) {
    ASSERT_TRUE(tier.get_or_make(
        numbered(i), [&] { return Counted(alive); }, {}, &answer));
  }
  EXPECT_EQ(answer.reason, Reason::out_of_space);
  EXPECT_LE(alive, 2 * 41 + 2);
  EXPECT_LE(tier.stats().unreclaimed_bytes, kBytesMax + 200'000);
}

TEST(Keeping, KeepsNothingThatIsMadeWhileItsTierCloses) {
  std::atomic<int> alive{0};
  Answer answer;
  bool was_handed_out = false;
  {
    auto tier = std::make_unique<MemoryTier<Counted>>();
    auto* const closing = tier.get();
    const auto dispose = [&, closing](Counted* first) {
      const auto second = closing->get_or_make(
          named("b"), [&] { return Counted(alive); }, {}, &answer);
      was_handed_out = second.has_value();
      delete first;
    };
    ASSERT_TRUE(tier->get_or_make(named("a"), [&] { return Disposable(new Counted(alive), dispose); }));
  }
  EXPECT_TRUE(was_handed_out);
  EXPECT_EQ(answer.outcome, Outcome::made);
  EXPECT_EQ(answer.reason, Reason::closed);
  EXPECT_EQ(alive, 0);
}

TEST(Keeping, RefusesALowWaterThatIsNoShare) {
  for (const double odd : {-3.0, 17.0, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(MemoryTier<int>({.low_water = odd}), std::invalid_argument) << odd;
  }
  MemoryTier<int> empties({.low_water = 0});
  EXPECT_TRUE(empties.get_or_make(named("a"), [] { return 1; }));
}

TEST(Keeping, OutlivesItsTierInHandles) {
  std::atomic<int> alive{0};
  InternedRecipe<Counted> recipe;
  Held<Counted> held;
  {
    MemoryTier<Counted> tier;
    recipe = tier.intern(named("a"));
    held = *tier.get_or_make(recipe, [&] { return Counted(alive); });
  }
  EXPECT_EQ(held->alive, &alive);
  EXPECT_EQ(recipe.canonical(), named("a").canonical());
  EXPECT_EQ(alive, 1);
  held = {};
  EXPECT_EQ(alive, 0);
}

TEST(Keeping, FreesAShutTierOnceItsLastReaderHasGone) {
  std::atomic<int> alive{0};
  MemoryTier<int> other;
  {
    Guard guard(other);
    MemoryTier<Counted> tier;
    static_cast<void>(tier.get_or_make(named("a"), [&] { return Counted(alive); }));
  }
  EXPECT_EQ(alive, 1);
  other.clear();
  EXPECT_EQ(alive, 0);
}

TEST(Keeping, ClearsAndErases) {
  MemoryTier<int> tier;
  const auto a = tier.intern(named("a"));
  for (const char* name : {"a", "b", "c"}) static_cast<void>(tier.get_or_make(named(name), [] { return 1; }));
  EXPECT_TRUE(tier.erase(a));
  EXPECT_FALSE(tier.erase(a));
  EXPECT_TRUE(tier.erase(named("b")));
  EXPECT_FALSE(tier.erase(named("never seen")));
  EXPECT_EQ(tier.stats().count, 1u);
  tier.clear();
  EXPECT_EQ(tier.stats().count, 0u);
}

TEST(Keeping, DoesNotKeepWhatWasBeingMadeWhenItWasErased) {
  MemoryTier<int> tier;
  Answer answer;
  const auto held = tier.get_or_make(
      named("a"),
      [&] {
        EXPECT_FALSE(tier.erase(named("a")));
        EXPECT_EQ(**tier.get_or_make(named("a"), [] { return 2; }), 2);
        return 1;
      },
      {}, &answer);
  EXPECT_EQ(**held, 1);
  EXPECT_EQ(answer.reason, Reason::cleared);
  EXPECT_EQ(*tier.get(named("a")), 2);
}

TEST(Keeping, ShrinksToAQuarterUnderPressureAndToNothingUnderMore) {
  constexpr std::uint64_t kBytesMax = 100'000;
  MemoryTier<int> tier({.bytes_max = kBytesMax}, [](int) { return 1000; });
  for (int i = 0; i < 100; ++i) static_cast<void>(tier.get_or_make(numbered(i), [] { return 0; }));
  EXPECT_GT(tier.stats().bytes, kBytesMax / 2);
  tier.relieve(Pressure::moderate);
  EXPECT_LE(tier.stats().bytes, kBytesMax / 4);
  EXPECT_GT(tier.stats().bytes, kBytesMax / 8);
  tier.relieve(Pressure::critical);
  EXPECT_EQ(tier.stats().count, 0u);
  EXPECT_EQ(tier.stats().bytes, 0u);
}

TEST(Keeping, SparesWhatIsPinned) {
  MemoryTier<int> tier({.count_max = 2});
  const auto pinned = tier.intern(named("pinned"));
  static_cast<void>(tier.get_or_make(pinned, [] { return 1; }, {.pinned = true}));
  for (int i = 0; i < 20; ++i) static_cast<void>(tier.get_or_make(numbered(i), [] { return 0; }));
  EXPECT_TRUE(is_kept(tier, pinned));
  tier.relieve(Pressure::critical);
  EXPECT_EQ(tier.stats().count, 1u);
  EXPECT_TRUE(tier.set_pinned(pinned, false));
  tier.relieve(Pressure::critical);
  EXPECT_EQ(tier.stats().count, 0u);
  EXPECT_FALSE(tier.set_pinned(pinned, true));
}

TEST(Keeping, SaysThatPinnedProductsLeaveNoRoom) {
  MemoryTier<int> tier({.count_max = 1});
  static_cast<void>(tier.get_or_make(named("pinned"), [] { return 1; }, {.pinned = true}));
  Answer answer;
  EXPECT_TRUE(tier.get_or_make(
      named("a"), [] { return 1; }, {}, &answer));
  EXPECT_EQ(answer.reason, Reason::out_of_space);
  EXPECT_TRUE(tier.erase(named("pinned")));
}

struct Program {
  int id;
};
struct Kernel {
  int id;
};

TEST(Family, ChildrenLeaveWithTheirParentWhateverTheirTier) {
  MemoryTier<Program> programs({.count_max = 1});
  MemoryTier<Kernel> kernels;
  const auto program = programs.intern(named("program"));
  static_cast<void>(programs.get_or_make(program, [] { return Program{1}; }));
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(kernels.get_or_make(numbered(i), [&] { return Kernel{i}; }, {.parent = program}));
  }
  static_cast<void>(kernels.get_or_make(named("orphan"), [] { return Kernel{9}; }));
  EXPECT_EQ(kernels.stats().count, 4u);
  static_cast<void>(programs.get_or_make(named("another program"), [] { return Program{2}; }));
  EXPECT_FALSE(is_kept(programs, program));
  EXPECT_EQ(kernels.stats().count, 1u);
  EXPECT_TRUE(is_kept(kernels, named("orphan")));
}

TEST(Family, GrandchildrenLeaveToo) {
  MemoryTier<int> tier;
  MemoryTier<int> other;
  const auto a = tier.intern(named("a"));
  const auto b = tier.intern(named("b"));
  const auto c = other.intern(named("c"));
  static_cast<void>(tier.get_or_make(a, [] { return 1; }));
  static_cast<void>(tier.get_or_make(b, [] { return 1; }, {.parent = a}));
  static_cast<void>(other.get_or_make(c, [] { return 1; }, {.parent = b}));
  static_cast<void>(tier.get_or_make(named("d"), [] { return 1; }, {.parent = c}));
  EXPECT_TRUE(tier.erase(a));
  EXPECT_EQ(tier.stats().count + other.stats().count, 0u);
  tier.clear();
  EXPECT_EQ(tier.stats().interned, 2u);  // the handles a and b
}

TEST(Family, AChildThatLeftIsNotMissed) {
  MemoryTier<int> tier;
  const auto parent = tier.intern(named("parent"));
  static_cast<void>(tier.get_or_make(parent, [] { return 1; }));
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(tier.get_or_make(named("child"), [] { return 1; }, {.parent = parent}));
    EXPECT_TRUE(tier.erase(named("child")));
  }
  static_cast<void>(tier.get_or_make(named("child"), [] { return 1; }));
  EXPECT_TRUE(tier.erase(parent));
  EXPECT_TRUE(is_kept(tier, named("child")));
}

TEST(Family, KeepsNoChildOfAParentThatIsNotKept) {
  MemoryTier<int> tier;
  const auto parent = tier.intern(named("parent"));
  Answer answer;
  EXPECT_TRUE(tier.get_or_make(
      named("child"), [] { return 1; }, {.parent = parent}, &answer));
  EXPECT_EQ(answer.reason, Reason::evicted);
  EXPECT_EQ(tier.stats().count, 0u);
}

TEST(Interned, WeighsInTheByteCapAndLeavesWithItsLastUser) {
  MemoryTier<int> tier({.bytes_max = 100'000});
  EXPECT_EQ(tier.stats().bytes, 0u);
  auto recipe = tier.intern(Recipe("test").add("text", std::string(50'000, 'x')));
  EXPECT_GE(tier.stats().bytes, 50'000u);
  auto again = tier.intern(Recipe("test").add("text", std::string(50'000, 'x')));
  EXPECT_EQ(recipe, again);
  const auto bytes = tier.stats().bytes;
  recipe = {};
  EXPECT_EQ(tier.stats().bytes, bytes);
  again = {};
  EXPECT_EQ(tier.stats().bytes, 0u);
  tier.clear();
  EXPECT_EQ(tier.stats().interned, 0u);
}

TEST(Interned, MakesRoomForItself) {
  MemoryTier<int> tier({.bytes_max = 100'000}, [](int) { return 10'000; });
  for (int i = 0; i < 9; ++i) static_cast<void>(tier.get_or_make(numbered(i), [] { return 0; }));
  const auto recipe = tier.intern(Recipe("test").add("text", std::string(50'000, 'x')));
  EXPECT_LE(tier.stats().bytes, 100'000u);
  EXPECT_LT(tier.stats().count, 5u);
}

TEST(Interned, StaysWhenItsProductIsEvicted) {
  MemoryTier<int> tier({.count_max = 1});
  const auto recipe = tier.intern(named("a"));
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(**tier.get_or_make(recipe, [&] { return i; }), i);
    static_cast<void>(tier.get_or_make(named("b"), [] { return 0; }));
    EXPECT_FALSE(is_kept(tier, recipe));
  }
}

TEST(Interned, FindsAmongManyRecipes) {
  MemoryTier<int> tier;
  std::vector<InternedRecipe<int>> recipes;
  for (int i = 0; i < 5000; ++i) {
    recipes.push_back(tier.intern(numbered(i)));
    if (i % 2 == 0) static_cast<void>(tier.get_or_make(recipes.back(), [&] { return i; }));
  }
  Guard guard(tier);
  std::vector<int*> objects(recipes.size());
  guard.get_many(recipes, objects);
  for (int i = 0; i < 5000; ++i) {
    int* const found = guard.get(numbered(i));
    EXPECT_EQ(found, objects[static_cast<std::size_t>(i)]);
    EXPECT_EQ(found != nullptr, i % 2 == 0);
    if (found != nullptr) {
      EXPECT_EQ(*found, i);
    }
  }
}

}  // namespace
}  // namespace larder
