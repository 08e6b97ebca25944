// What cannot be done is said: once for each cause, with its place and what to do.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "cache/testing.hpp"
#include "larder/events.hpp"

namespace larder {
namespace {

using ::testing::HasSubstr;
using testing::options_in;
using testing::recipe_of;
using testing::ScratchDirectory;

struct Warning {
  Reason reason;
  std::string detail;
};

class Warnings : public ::testing::Test {
 protected:
  std::vector<Warning> heard() const {
    const MutexLock lock(mutex_);
    return heard_;
  }
  static Result<Product> ask(Cache& cache, std::string_view name) {
    return cache.get_or_make(recipe_of(name), [] { return std::string(100, 'x'); });
  }

  ScratchDirectory scratch_;
  Options options_ = options_in(scratch_);

 private:
  mutable Mutex mutex_;
  std::vector<Warning> heard_ GUARDED_BY(mutex_);
  const Subscription listening_ = subscribe([this](const Event& event) {
                                    if (event.kind != EventKind::warning) return;
                                    const MutexLock lock(mutex_);
                                    heard_.push_back({event.reason, std::string(event.detail)});
                                  }).value();
};

TEST_F(Warnings, TellHowManyProductsTheEndHadNoTimeFor) {
  options_.write_behind_delay = std::chrono::hours(1);
  options_.free_min = 0;
  {
    Cache cache = Cache::open(options_);
    // Not asked for: what another process may wait for is written without delay.
    for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(cache.put(recipe_of(name), Bytes(std::string("x"))));
    cache.close(std::chrono::nanoseconds{0});
    EXPECT_EQ(cache.stats().totals[Counter::warnings], 1u);
  }
  ASSERT_EQ(heard().size(), 1u);
  EXPECT_EQ(heard()[0].reason, Reason::closed);
  EXPECT_THAT(heard()[0].detail, HasSubstr("3 products were not written"));
  EXPECT_THAT(heard()[0].detail, HasSubstr("close-time"));
  Cache cache = Cache::open(options_);
  const auto again = ask(cache, "b");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->outcome, Outcome::made);
  EXPECT_EQ(again->reason, Reason::closed) << "which `larder why` explains";
}

TEST_F(Warnings, OfAFullDiskComeOncePerCauseUntilItIsWellAgain) {
  options_.write_behind_size = 0;
  options_.free_min = std::uint64_t{1} << 60;
  Cache cache = Cache::open(options_);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(ask(cache, std::to_string(i)));
  ASSERT_EQ(heard().size(), 1u);
  EXPECT_EQ(heard()[0].reason, Reason::out_of_space);
  EXPECT_THAT(heard()[0].detail, HasSubstr(*options_.dir));
  EXPECT_THAT(heard()[0].detail, HasSubstr("free-min"));
  EXPECT_EQ(cache.stats().totals[Counter::warnings], 1u);
  EXPECT_EQ(cache.stats().totals[Reason::out_of_space], 20u);
  ASSERT_EQ(cache.problems().size(), 1u);
  EXPECT_THAT(cache.problems()[0], HasSubstr(name(Reason::out_of_space)));
}

TEST_F(Warnings, OfAnUnusableRuntimeDirectoryComeOnceAndAreAProblem) {
  options_.free_min = 0;
  std::filesystem::create_directory(*options_.runtime_dir);
  std::filesystem::permissions(*options_.runtime_dir, std::filesystem::perms::all);
  Cache cache = Cache::open(options_);
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(ask(cache, name));
  ASSERT_EQ(heard().size(), 1u);
  EXPECT_THAT(heard()[0].detail, HasSubstr(*options_.runtime_dir));
  EXPECT_THAT(heard()[0].detail, HasSubstr("runtime-dir"));
  ASSERT_EQ(cache.problems().size(), 1u);
  EXPECT_THAT(cache.problems()[0], HasSubstr("at once"));
}

TEST(ClearOfNegativeAge, RemovesNothing) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.free_min = 0;
  Cache cache = Cache::open(options);
  ASSERT_TRUE(cache.get_or_make(recipe_of("a"), [] { return std::string("x"); }));
  ASSERT_TRUE(cache.flush(std::chrono::seconds(20)));
  EXPECT_EQ(cache.clear({.older_than = std::chrono::seconds(-10)}).entries, 0u);
  EXPECT_TRUE(cache.get(recipe_of("a")));
}

}  // namespace
}  // namespace larder
