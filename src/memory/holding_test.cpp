// What makers may return, and the ways to hold it.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "larder/memory.hpp"
#include "memory/testing.hpp"

struct opaque_handle;  // as a driver's: never defined

namespace larder {
namespace {

using testing::named;

TEST(Holding, MakersMayReturnValuesPointersAndResults) {
  MemoryTier<std::string> tier;
  const auto text = [&](const char* name, auto make) {
    const auto held = tier.get_or_make(named(name), make);
    return held ? **held : "error: " + held.error().what;
  };
  EXPECT_EQ(text("a", [] { return std::string("value"); }), "value");
  EXPECT_EQ(text("b", [] { return "made from a literal"; }), "made from a literal");
  EXPECT_EQ(text("c", [] { return std::make_unique<std::string>("unique"); }), "unique");
  EXPECT_EQ(text("d", [] { return std::make_shared<std::string>("shared"); }), "shared");
  EXPECT_EQ(text("e", []() -> Result<std::string> { return std::string("result"); }), "result");
  EXPECT_EQ(
      text("f",
           []() -> Result<std::unique_ptr<std::string>> { return std::make_unique<std::string>("both"); }),
      "both");
  EXPECT_EQ(text("g", []() -> Result<std::string> { return fail(Code::maker_failed, "no"); }), "error: no");
  EXPECT_EQ(text("h", [] { return std::unique_ptr<std::string>(); }),
            "error: maker: returned a null pointer");
  EXPECT_EQ(tier.stats().count, 6u);
}

TEST(Holding, MakesWhatCannotBeMovedInItsPlace) {
  MemoryTier<std::mutex> tier;
  const auto held = tier.get_or_make(named("a"), [] { return std::mutex(); });
  ASSERT_TRUE(held);
  (*held)->lock();
  EXPECT_FALSE((*held)->try_lock());
  (*held)->unlock();
}

TEST(Holding, KeepsRawHandlesWithTheirDeleter) {
  static int released = 0;
  released = 0;
  const auto release = [](opaque_handle*) { ++released; };
  auto* const handle = reinterpret_cast<opaque_handle*>(0x1000);
  {
    MemoryTier<opaque_handle> tier;
    const auto held = tier.get_or_make(named("a"), [&] { return Disposable{handle, release}; });
    ASSERT_TRUE(held);
    EXPECT_EQ(held->get(), handle);
    tier.clear();
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
}

TEST(Holding, KeepsHandlesThatAreNumbers) {
  using Name = unsigned;
  std::array<int, 10> released{};
  {
    MemoryTier<Name> tier;
    const auto held = tier.get_or_make(named("a"), [&] {
      return Disposable{Name{7}, [&](Name name) { ++released[name]; }};
    });
    ASSERT_TRUE(held);
    EXPECT_EQ(**held, 7u);
  }
  EXPECT_EQ(released[7], 1);
}

struct Large {
  std::array<char, 1000> bytes{};
};
struct alignas(128) Aligned {
  char byte = 0;
};

TEST(Holding, KeepsWhatDoesNotFitIntoASlot) {
  MemoryTier<Large> large;
  EXPECT_EQ((*large.get_or_make(named("a"), [] { return Large{{'x'}}; }))->bytes[0], 'x');
  EXPECT_EQ(large.get(named("a"))->bytes[0], 'x');
  MemoryTier<Aligned> aligned;
  const auto held = *aligned.get_or_make(named("a"), [] { return Aligned{'y'}; });
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(held.get()) % 128, 0u);
  EXPECT_EQ(aligned.get(named("a")).get(), held.get());
}

TEST(Holding, ASharedPointerHoldsWhatItsHandleHeld) {
  std::shared_ptr<std::string> shared;
  {
    MemoryTier<std::string> tier;
    shared = tier.get_or_make(named("a"), [] { return "text"; })->to_shared();
  }
  EXPECT_EQ(*shared, "text");
  EXPECT_EQ(Held<std::string>().to_shared(), nullptr);
}

TEST(Holding, KeepsConstObjects) {
  MemoryTier<const std::string> tier({}, [](const std::string& text) { return text.size(); });
  const auto recipe = tier.intern(named("a"));
  const auto held = tier.get_or_make(recipe, [] { return std::string("value"); });
  ASSERT_TRUE(held);
  static_assert(std::is_same_v<decltype(held->get()), const std::string*>);
  EXPECT_EQ(**held, "value");
  EXPECT_EQ(*held->to_shared(), "value");
  {
    Guard guard(tier);
    EXPECT_EQ(*guard.get(recipe), "value");
    EXPECT_EQ(*guard.get(named("a")), "value");
  }
  EXPECT_EQ(**tier.get_or_make(named("b"), [] { return std::make_unique<std::string>("unique"); }), "unique");
  EXPECT_EQ(**tier.get_or_make(named("c"), [] { return std::make_shared<const std::string>("shared"); }),
            "shared");
  EXPECT_EQ(**tier.get_or_make(named("d"), []() -> Result<std::string> { return "result"; }), "result");
  using Table = std::array<int, 1000>;
  MemoryTier<const Table> large;
  EXPECT_EQ((*large.get_or_make(named("a"), [] { return Table{1}; }))->front(), 1);
}

// What a guard shows at home, away from its slot and in no slot at all, one by one and many at once.
TEST(Holding, GetsManyAsOneByOne) {
  MemoryTier<int> tier;
  std::vector<InternedRecipe<int>> recipes;
  std::vector<const InternedRecipe<int>*> places;
  for (int i = 0; i < 50; ++i) {
    recipes.push_back(tier.intern(named(std::to_string(i))));
    if (i % 3 == 0) static_cast<void>(tier.get_or_make(recipes.back(), [&] { return i; }));
    if (i % 3 == 1)
      static_cast<void>(tier.get_or_make(recipes.back(), [&] { return std::make_unique<int>(i); }));
  }
  for (const auto& recipe : recipes) places.push_back(&recipe);
  for (int round = 0; round < 2; ++round) {
    Guard guard(tier);
    std::vector<int*> found(recipes.size() + 1);
    std::vector<int*> by_place(recipes.size());
    guard.get_many(recipes, found);
    guard.get_many(places, by_place);
    for (std::size_t i = 0; i < recipes.size(); ++i) {
      ASSERT_EQ(found[i], guard.get(recipes[i]));
      ASSERT_EQ(by_place[i], found[i]);
      if (i % 3 == 2) {
        EXPECT_EQ(found[i], nullptr);
      } else {
        EXPECT_EQ(*found[i], static_cast<int>(i));
      }
    }
  }
  EXPECT_EQ(tier.totals()[Outcome::memory_hit], 2u * 3 * 34);
}

TEST(Holding, ShowsNoProductThatLeftOrIsAnothers) {
  MemoryTier<int> tier;
  const auto recipe = tier.intern(named("a"));
  const auto shown = [&] {
    Guard guard(tier);
    int* const found = guard.get(recipe);
    return found == nullptr ? 0 : *found;
  };
  EXPECT_EQ(shown(), 0);
  auto first = tier.get_or_make(recipe, [] { return 1; });
  EXPECT_EQ(shown(), 1);
  EXPECT_EQ(shown(), 1) << "fresh this time";
  tier.erase(recipe);
  EXPECT_EQ(shown(), 0);
  const auto second = tier.get_or_make(recipe, [] { return 2; });
  EXPECT_EQ(**first, 1) << "still at home";
  EXPECT_EQ(shown(), 2) << "away";
  EXPECT_EQ(shown(), 2);
  tier.erase(recipe);
  *first = {};
  EXPECT_EQ(shown(), 0);
  static_cast<void>(tier.get_or_make(recipe, [] { return 3; }));
  EXPECT_EQ(shown(), 3) << "at home again";
}

TEST(Holding, GuardsNest) {
  MemoryTier<std::string> tier;
  const auto recipe = tier.intern(named("a"));
  static_cast<void>(tier.get_or_make(recipe, [] { return "text"; }));
  Guard outer(tier);
  std::string* const seen = outer.get(recipe);
  { Guard inner(tier); }
  tier.clear();
  EXPECT_EQ(*seen, "text");
}

TEST(Holding, CountsHitsUnderAGuardWhenItEnds) {
  MemoryTier<int> tier;
  const auto recipe = tier.intern(named("a"));
  static_cast<void>(tier.get_or_make(recipe, [] { return 1; }));
  {
    Guard guard(tier);
    for (int i = 0; i < 1000; ++i) ASSERT_NE(guard.get(recipe), nullptr);
  }
  EXPECT_EQ(tier.totals()[Outcome::memory_hit], 1000u);
}

}  // namespace
}  // namespace larder
