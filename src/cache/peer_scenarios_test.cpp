// What peers test of their persistent caches, made anew from the facts (docs/peer-scenarios.md); what other
// suites here assert already stands there.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <thread>
#include <vector>

#include "cache/testing.hpp"
#include "larder/events.hpp"
#include "store/store.hpp"

namespace larder {
namespace {

using testing::kLong;
using testing::options_in;
using testing::recipe_of;
using testing::ScratchDirectory;

class PeerScenariosTest : public ::testing::Test {
 protected:
  PeerScenariosTest() {
    options_.root = scratch_.path() + "/store";
    options_.lock_directory = scratch_.path() + "/run";
    options_.step_max = kLong;
  }
  std::unique_ptr<Store> open() { return std::move(*Store::open(options_)); }
  std::string file_of(const std::string& root, const Recipe& recipe) const {
    const std::string hex = recipe.key().hex();
    return root + "/v1/" + hex.substr(0, 2) + "/" + hex.substr(2);
  }
  static std::string made_of(char letter, std::size_t size) { return std::string(size, letter); }

  ScratchDirectory scratch_;
  StoreOptions options_;
};
using PeerScenarios = PeerScenariosTest;

TEST_F(PeerScenarios, RecipesThatDifferInZeroBytesOnlyAreTwo) {
  const auto store = open();
  const std::vector<std::string> values{
      "", std::string(1, '\0'), std::string(2, '\0'), std::string("a\0", 2), std::string("\0a", 2), "a"};
  for (const std::string& value : values) {
    ASSERT_TRUE(store->put(Recipe("k").add("n", value), as_bytes("of " + value)));
  }
  for (const std::string& value : values) {
    EXPECT_EQ(store->get(Recipe("k").add("n", value)).entry.product.text(), "of " + value);
  }
}

// Threads that put and get one item at the same time: all see nothing or the whole.
void hammer(Store& store, int threads, std::size_t size, int rounds) {
  std::atomic<int> wrong{0};
  std::latch start(threads);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      const Recipe recipe = recipe_of(std::to_string(size));
      start.arrive_and_wait();
      for (int round = 0; round < rounds; ++round) {
        const std::string product(size, static_cast<char>('a' + i % 26));
        if (!store.put(recipe, as_bytes(product))) ++wrong;
        const Lookup found = store.get(recipe);
        const std::string_view text = found.entry.product.text();
        if (!found || text.size() != size || text != std::string(size, text.front())) ++wrong;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong, 0) << threads << " threads, " << size << " bytes";
}

TEST_F(PeerScenarios, ManyThreadsPutAndGetOneItemWithoutCorruption) {
  const auto store = open();
  hammer(*store, 300, 10, 1);
  hammer(*store, 100, 10'000, 1);
  hammer(*store, 20, 1'000'000, 4);
}

TEST_F(PeerScenarios, AHeldLockKeepsNobodyFromReadingOrKeeping) {
  const auto holder = open();
  const auto other = open();
  ASSERT_TRUE(holder->put(recipe_of("kept"), as_bytes("product")));
  const MakeTurn turn = holder->wait_for_turn(recipe_of("new").key());
  ASSERT_EQ(turn.turn, Turn::mine);
  EXPECT_TRUE(other->get(recipe_of("kept")));
  EXPECT_TRUE(other->put(recipe_of("new"), as_bytes("product")));
  EXPECT_TRUE(other->get(recipe_of("new")));
}

TEST_F(PeerScenarios, AFourthItemEvictsTheOneUnusedLongest) {
  FakeClock clock(Clock::system().unix_ns());
  options_.clock = &clock;
  options_.policy = policy::Kind::lru;
  options_.touch_after = Nanoseconds(0);
  options_.low_water = 1;
  options_.bytes_max = 35'000;  // three items of ten thousand bytes and their heads
  const auto store = open();
  const std::string product(10'000, 'p');
  for (const char* name : {"0", "1", "2"}) {
    clock.advance(std::chrono::hours(1));
    ASSERT_TRUE(store->put(recipe_of(name), as_bytes(product)));
  }
  clock.advance(std::chrono::hours(1));
  ASSERT_TRUE(store->get(recipe_of("0")));
  clock.advance(std::chrono::hours(1));
  ASSERT_TRUE(store->put(recipe_of("3"), as_bytes(product)));
  while (!store->upkeep(kLong).is_done) continue;
  EXPECT_TRUE(store->contains(recipe_of("0").key()));
  EXPECT_FALSE(store->contains(recipe_of("1").key()));
  EXPECT_TRUE(store->contains(recipe_of("2").key()));
  EXPECT_TRUE(store->contains(recipe_of("3").key()));
}

TEST_F(PeerScenarios, AnItemAsLargeAsTheCapLeavesNoOther) {
  options_.bytes_max = 100'000;
  options_.policy = policy::Kind::lru;
  const auto store = open();
  for (int i = 0; i < 5; ++i) store->put(recipe_of(std::to_string(i)), as_bytes(made_of('s', 10'000)));
  EXPECT_EQ(store->usage().entries, 5u);
  ASSERT_TRUE(store->put(recipe_of("large"), as_bytes(made_of('l', 94'000))));
  while (!store->upkeep(kLong).is_done) continue;
  EXPECT_LE(store->usage().bytes, 100'000u);
  EXPECT_LE(store->usage().entries, 1u);
}

TEST_F(PeerScenarios, WhatIsPutInOneInstanceIsSeenInTheOther) {
  Cache a = Cache::open(options_in(scratch_));
  Cache b = Cache::open(options_in(scratch_));
  ASSERT_TRUE(a.put(recipe_of("of a"), Bytes(std::string("1"))));
  ASSERT_TRUE(a.flush(kLong));
  EXPECT_EQ(b.get(recipe_of("of a"))->outcome, Outcome::disk_hit);
  ASSERT_TRUE(b.put(recipe_of("of b"), Bytes(std::string("2"))));
  ASSERT_TRUE(b.flush(kLong));
  EXPECT_EQ(a.get(recipe_of("of b"))->outcome, Outcome::disk_hit);
}

TEST_F(PeerScenarios, WhatLiesOnDiskIsWhatIsServed) {
  // Another product, properly kept elsewhere, takes the file's place: the proof that the file is used.
  StoreOptions elsewhere = options_;
  elsewhere.root = scratch_.path() + "/elsewhere";
  const auto theirs = std::move(*Store::open(elsewhere));
  ASSERT_TRUE(theirs->put(recipe_of("a"), as_bytes("substituted")));
  {
    Cache cache = Cache::open(options_in(scratch_));
    ASSERT_TRUE(cache.get_or_make(recipe_of("a"), [] { return std::string("made"); }));
  }
  std::filesystem::copy_file(file_of(elsewhere.root, recipe_of("a")), file_of(options_.root, recipe_of("a")),
                             std::filesystem::copy_options::overwrite_existing);
  Cache cache = Cache::open(options_in(scratch_));
  EXPECT_EQ(cache.get_or_make(recipe_of("a"), [] { return std::string("made"); })->bytes.text(),
            "substituted");
}

TEST_F(PeerScenarios, AnEmptyStoreMissesAndHoldsNothing) {
  const auto store = open();
  EXPECT_EQ(store->get(recipe_of("a")).reason, Reason::absent);
  EXPECT_EQ(store->usage().entries, 0u);
  EXPECT_EQ(store->usage().bytes, 0u);
  EXPECT_FALSE(store->erase(recipe_of("a").key()));
}

TEST_F(PeerScenarios, ADirectoryMayEndInASlashAndLackItsParents) {
  for (const char* const end : {"/one", "/two/", "/three//", "/four/deep/down"}) {
    options_.root = scratch_.path() + end;
    auto store = Store::open(options_);
    ASSERT_TRUE(store) << store.error().what;
    EXPECT_TRUE((*store)->put(recipe_of("a"), as_bytes("product")));
    EXPECT_TRUE((*Store::open(options_))->get(recipe_of("a")));
  }
}

TEST_F(PeerScenarios, ProductsMayLieAnywhereInMemory) {
  const auto store = open();
  const std::string buffer(10'000, 'm');
  for (std::size_t offset = 0; offset < 17; ++offset) {
    Recipe recipe = Recipe("k").add("source", std::string_view(buffer).substr(offset, 999));
    ASSERT_TRUE(store->put(recipe.add("offset", std::to_string(offset)),
                           as_bytes(std::string_view(buffer).substr(offset))));
  }
  for (std::size_t offset = 0; offset < 17; ++offset) {
    Recipe recipe = Recipe("k").add("source", std::string_view(buffer).substr(0, 999));
    EXPECT_EQ(store->get(recipe.add("offset", std::to_string(offset))).entry.product.size(), 10'000 - offset);
  }
}

TEST_F(PeerScenarios, WhatIsInHandOutlivesClearing) {
  Options options = options_in(scratch_);
  options.memory = false;
  Cache cache = Cache::open(options);
  ASSERT_TRUE(cache.put(recipe_of("a"), Bytes(std::string(200'000, 'p'))));
  ASSERT_TRUE(cache.flush(kLong));
  const auto copy = cache.get(recipe_of("a"));
  const auto mapped = cache.get(recipe_of("a"), {.may_map = true});
  ASSERT_TRUE(copy && mapped);
  EXPECT_EQ(cache.clear().entries, 1u);
  EXPECT_FALSE(cache.get(recipe_of("a")));
  EXPECT_EQ(copy->bytes.text(), std::string(200'000, 'p'));
  EXPECT_EQ(mapped->bytes.text(), std::string(200'000, 'p'));
}

TEST_F(PeerScenarios, AProductOfAnotherSizeInItsPlaceIsCountedAsSuch) {
  Cache cache = Cache::open(options_in(scratch_));
  const auto bytes_after = [&](std::size_t size) {
    EXPECT_TRUE(
        cache.get_or_make(recipe_of("a"), [&] { return std::string(size, 'x'); }, {.mode = Mode::refresh}));
    EXPECT_TRUE(cache.flush(kLong));
    return open()->usage();
  };
  const StoreUsage first = bytes_after(1000);
  EXPECT_EQ(first.entries, 1u);
  EXPECT_EQ(bytes_after(5000).bytes, first.bytes + 4000);
  const StoreUsage last = bytes_after(1000);
  EXPECT_EQ(last.entries, 1u);
  EXPECT_EQ(last.bytes, first.bytes);
}

TEST_F(PeerScenarios, AKeptProductIsToldOnce) {
  std::atomic<int> stored{0};
  const auto listening = subscribe(
      [&](const Event& event) { stored += event.kind == EventKind::stored && event.tier == Tier::disk; });
  Cache cache = Cache::open(options_in(scratch_));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(cache.get_or_make(recipe_of("a"), [] { return std::string("product"); }));
    ASSERT_TRUE(cache.flush(kLong));
  }
  EXPECT_EQ(stored, 1);
}

TEST_F(PeerScenarios, AnEmptyProductAndAnEmptyKindAreLikeOthers) {
  const Recipe nameless("");
  {
    Cache cache = Cache::open(options_in(scratch_));
    ASSERT_TRUE(cache.get_or_make(nameless, [] { return std::string(); }));
  }
  const auto found = Cache::open(options_in(scratch_)).get(nameless);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->outcome, Outcome::disk_hit);
  EXPECT_EQ(found->bytes.size(), 0u);
}

}  // namespace
}  // namespace larder
