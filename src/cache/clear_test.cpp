#include <gtest/gtest.h>

#include <filesystem>
#include <latch>
#include <thread>

#include "cache/misses.hpp"
#include "cache/start_order.hpp"
#include "cache/testing.hpp"
#include "store/store.hpp"

namespace larder {
namespace {

using testing::kLong;
using testing::open_store;
using testing::options_in;
using testing::recipe_of;
using testing::ScratchDirectory;

Recipe source_at(std::string_view path) {
  return Recipe("compile").add("path", path).add("options", "-O2");
}

bool make(Cache& cache, const Recipe& recipe) {
  const auto made = cache.get_or_make(recipe, [] { return std::string("product"); });
  return made && made->outcome == Outcome::made;
}

TEST(ClearByPath, TakesWhatIsMadeFromFilesBelowItAndNothingElse) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  for (const char* path : {"/src/a.cl", "/src/deep/b.cl", "/src", "/srcs/c.cl", "/other/src/d.cl"}) {
    ASSERT_TRUE(make(cache, source_at(path)));
  }
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_EQ(cache.clear({.path = "/src/"}).entries, 3u);
  EXPECT_TRUE(cache.get(source_at("/srcs/c.cl")));
  EXPECT_TRUE(cache.get(source_at("/other/src/d.cl")));
  EXPECT_FALSE(cache.get(source_at("/src/a.cl")));
  EXPECT_EQ(cache.clear({.path = "/"}).entries, 2u);
}

TEST(ClearOfAll, TakesWhatWasDamagedAndPutAsideToo) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  ASSERT_TRUE(make(cache, source_at("/src/a.cl")));
  ASSERT_TRUE(cache.flush(kLong));
  ASSERT_TRUE(open_store(scratch)->erase(source_at("/src/a.cl").key(), Reason::mismatch));
  const auto damaged = [&] {
    const std::filesystem::path place = scratch.path() + "/store/v1/damaged";
    return std::distance(std::filesystem::directory_iterator(place), std::filesystem::directory_iterator());
  };
  EXPECT_EQ(damaged(), 1);
  cache.clear({.path = "/src"});
  EXPECT_EQ(damaged(), 1) << "nobody reads whose they are";
  cache.clear({});
  EXPECT_EQ(damaged(), 0);
}

TEST(ClearByPath, DropsWhatWaitsToBeWrittenToo) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.write_behind_delay = std::chrono::hours(1);
  Cache cache = Cache::open(options);
  ASSERT_TRUE(cache.put(source_at("/src/a.cl"), Bytes(std::string("1"))));
  ASSERT_TRUE(cache.put(source_at("/other/b.cl"), Bytes(std::string("2"))));
  cache.clear({.path = "/src"});
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_FALSE(cache.get(source_at("/src/a.cl")));
  EXPECT_TRUE(cache.get(source_at("/other/b.cl")));
}

TEST(ClearByAge, KeepsWhatWasUsedSince) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  ASSERT_TRUE(make(cache, recipe_of("aged")));
  ASSERT_TRUE(make(cache, recipe_of("fresh")));
  ASSERT_TRUE(cache.flush(kLong));
  const std::string hex = recipe_of("aged").key().hex();
  const std::string file = scratch.path() + "/store/v1/" + hex.substr(0, 2) + "/" + hex.substr(2);
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(48);
  std::filesystem::last_write_time(file, long_ago);
  EXPECT_EQ(cache.clear({.older_than = std::chrono::hours(24)}).entries, 1u);
  EXPECT_FALSE(cache.get(recipe_of("aged")));
  EXPECT_TRUE(cache.get(recipe_of("fresh")));
}

TEST(ClearOfAll, LeavesNoRecipeBehindInNotesOrIndex) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.program = "mine";
  {
    Cache cache = Cache::open(options);
    ASSERT_TRUE(make(cache, recipe_of("a")));
  }
  ASSERT_FALSE(read_misses(open_store(scratch)->notes(), 10).empty());
  ASSERT_FALSE(read_start_order(open_store(scratch)->notes(), "mine").empty());
  {
    Cache cache = Cache::open(options);
    EXPECT_TRUE(cache.get(recipe_of("a")));
    EXPECT_EQ(cache.clear().entries, 1u);
    EXPECT_EQ(cache.stats().memory_entries, 0u);
  }
  const auto store = open_store(scratch);
  EXPECT_TRUE(read_misses(store->notes(), 10).empty());
  EXPECT_TRUE(read_start_order(store->notes(), "mine").empty());
  EXPECT_EQ(store->usage().entries, 0u);
  EXPECT_EQ(store->absence(recipe_of("a").key()), Reason::cleared) << "the reason of the next miss";
}

TEST(ClearOfSome, ForgetsOnlyTheirMisses) {
  ScratchDirectory scratch;
  {
    Cache cache = Cache::open(options_in(scratch));
    for (const char* path : {"/src/a", "/other/b", "/other/c"}) ASSERT_TRUE(make(cache, source_at(path)));
  }
  Cache::open(options_in(scratch)).clear({.path = "/src"});
  const auto misses = read_misses(open_store(scratch)->notes(), 10);
  ASSERT_EQ(misses.size(), 2u);
  EXPECT_EQ(misses[0].recipe, source_at("/other/c"));
  EXPECT_EQ(misses[1].recipe, source_at("/other/b"));
}

// A maker that is at work when everything is cleared hands its product out, and it is kept nowhere: with the
// write queue and without.
class ClearDuringAMaking : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(ClearDuringAMaking, BringsNothingBack) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.write_behind_size = GetParam();
  Cache cache = Cache::open(options);
  std::latch is_making(1);
  std::latch is_cleared(1);
  std::thread maker([&] {
    const auto made = cache.get_or_make(recipe_of("a"), [&] {
      is_making.count_down();
      is_cleared.wait();
      return std::string("stale");
    });
    EXPECT_TRUE(made && made->bytes.text() == "stale");
  });
  is_making.wait();
  cache.clear({.kind = "test"});
  is_cleared.count_down();
  maker.join();
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_FALSE(cache.get(recipe_of("a")));
  EXPECT_FALSE(Cache::open(options_in(scratch)).get(recipe_of("a")));
}

INSTANTIATE_TEST_SUITE_P(WriteBehind, ClearDuringAMaking, ::testing::Values(0, 64 << 20));

}  // namespace
}  // namespace larder
