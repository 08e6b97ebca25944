// What makers may return, and the ways to hold it.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "larder/memory.hpp"

struct opaque_handle;  // as a driver's: never defined

namespace larder {
namespace {

Recipe named(std::string_view name) {
  return Recipe("test").add("name", name);
}

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
