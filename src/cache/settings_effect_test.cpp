// That each setting does what docs/settings.md says of it, once it has reached a cache.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "cache/testing.hpp"
#include "larder/events.hpp"

namespace larder {
namespace {

using testing::kLong;
using testing::options_in;
using testing::recipe_of;
using testing::ScratchDirectory;

class SettingTest : public ::testing::Test {
 protected:
  SettingTest() : options_(options_in(scratch_)) {}

  // The outcome of asking a cache of these options, for a product of so many bytes.
  static Outcome ask(Cache& cache, std::string_view name, std::size_t size = 100) {
    const auto product = cache.get_or_make(recipe_of(name), [&] { return std::string(size, 'x'); });
    return product ? product->outcome : Outcome::failed;
  }
  bool is_on_disk(std::string_view name) {
    Options plain = options_in(scratch_);
    return Cache::open(plain).get(recipe_of(name)).has_value();
  }

  ScratchDirectory scratch_;
  Options options_;
};
using Setting = SettingTest;

TEST_F(Setting, PersistentOffTouchesNoDisk) {
  options_.persistent = false;
  Cache cache = Cache::open(options_);
  EXPECT_FALSE(cache.stats().has_disk);
  ask(cache, "a");
  EXPECT_FALSE(std::filesystem::exists(*options_.dir));
}

TEST_F(Setting, MemoryOffAsksTheDiskEveryTime) {
  options_.memory = false;
  Cache cache = Cache::open(options_);
  EXPECT_EQ(ask(cache, "a"), Outcome::made);
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_EQ(ask(cache, "a"), Outcome::disk_hit);
  EXPECT_EQ(ask(cache, "a"), Outcome::disk_hit);
  EXPECT_EQ(cache.stats().memory_entries, 0u);
}

TEST_F(Setting, MemorySizeMaxLetsEntriesLeaveMemory) {
  options_.memory_size_max = 20'000;
  Cache cache = Cache::open(options_);
  for (int i = 0; i < 20; ++i) ask(cache, std::to_string(i), 4000);
  EXPECT_LE(cache.stats().memory_bytes, 20'000u);
  EXPECT_GT(cache.stats().memory_entries, 0u);
}

TEST_F(Setting, MemoryEntriesMaxBoundsTheirNumber) {
  options_.memory_entries_max = 3;
  Cache cache = Cache::open(options_);
  for (int i = 0; i < 20; ++i) ask(cache, std::to_string(i));
  EXPECT_LE(cache.stats().memory_entries, 3u);
}

TEST_F(Setting, EntrySizesBoundWhatTheDiskKeepsAndSayWhy) {
  std::vector<Reason> refused;
  const auto listening = subscribe([&](const Event& event) {
    if (event.kind == EventKind::warning && event.tier == Tier::disk) refused.push_back(event.reason);
  });
  options_.entry_size_min = 50;
  options_.entry_size_max = 200;
  options_.write_behind_size = 0;
  Cache cache = Cache::open(options_);
  ask(cache, "small", 49);
  ask(cache, "fits", 50);
  ask(cache, "fits too", 200);
  ask(cache, "large", 201);
  EXPECT_EQ(refused, (std::vector{Reason::too_small, Reason::too_large}));
  EXPECT_FALSE(is_on_disk("small"));
  EXPECT_TRUE(is_on_disk("fits"));
  EXPECT_TRUE(is_on_disk("fits too"));
  EXPECT_FALSE(is_on_disk("large"));
}

TEST_F(Setting, SizeMaxEvictsAndEvictionOffRefusesInstead) {
  options_.size_max = 100'000;
  options_.write_behind_size = 0;
  {
    Cache cache = Cache::open(options_);
    // On a machine that is too busy a put refuses rather than wait for eviction, which then takes many puts.
    const auto evicted = [&] { return cache.stats().totals[Counter::evicted]; };
    for (int i = 0; i < 40 || (evicted() == 0 && i < 4000); ++i) ask(cache, std::to_string(i), 10'000);
    EXPECT_GT(evicted(), 0u);
  }
  options_.dir = scratch_.path() + "/other";
  options_.eviction = false;
  Cache cache = Cache::open(options_);
  for (int i = 0; i < 40; ++i) ask(cache, std::to_string(i), 10'000);
  EXPECT_EQ(cache.stats().totals[Counter::evicted], 0u);
  EXPECT_LT(cache.stats().totals[Counter::stored], 40u);
}

TEST_F(Setting, AgeMaxForgetsWhatWasUnused) {
  {
    Cache cache = Cache::open(options_);
    ask(cache, "a");
  }
  ASSERT_TRUE(is_on_disk("a"));
  options_.age_max = std::chrono::nanoseconds(1);
  Cache later = Cache::open(options_);
  const auto made = later.get_or_make(recipe_of("a"), [] { return std::string("anew"); });
  EXPECT_EQ(made->outcome, Outcome::made);
  EXPECT_EQ(made->reason, Reason::expired);
}

TEST_F(Setting, WaitMaxBoundsHowLongAnotherProcessIsWaitedFor) {
  int ready[2], done[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(done), 0);
  const pid_t holder = ::fork();
  ASSERT_GE(holder, 0);
  if (holder == 0) {
    ::close(done[1]);
    Cache cache = Cache::open(options_);
    (void)cache.get_or_make(recipe_of("a"), [&] {
      char byte = 0;
      (void)!::write(ready[1], "x", 1);
      (void)!::read(done[0], &byte, 1);  // a maker that hangs until the test is over
      return std::string("of the holder");
    });
    ::_exit(0);
  }
  ::close(done[0]);
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  options_.wait_max = std::chrono::nanoseconds(0);
  options_.wait_min = std::chrono::nanoseconds(0);
  {
    Cache cache = Cache::open(options_);
    const auto made = cache.get_or_make(recipe_of("a"), [] { return std::string("made without waiting"); });
    EXPECT_EQ(made->bytes.text(), "made without waiting");
    EXPECT_EQ(made->reason, Reason::timed_out);
  }
  ::close(done[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(holder, &status, 0), holder);
}

TEST_F(Setting, LogTakesEventsUpToItsSize) {
  options_.log = scratch_.path() + "/events.jsonl";
  options_.log_size_max = 2000;
  Cache cache = Cache::open(options_);
  EXPECT_TRUE(cache.problems().empty());
  for (int i = 0; i < 100; ++i) ask(cache, std::to_string(i));
  const auto size = std::filesystem::file_size(*options_.log);
  EXPECT_GT(size, 500u);
  EXPECT_LE(size, 2000u);
  std::ifstream file(*options_.log);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line.front(), '{');
  // Another cache that names the same file logs nothing twice, and may loosen the limit.
  options_.log_size_max = 0;
  Cache other = Cache::open(options_);
  ask(other, "one more");
  EXPECT_GT(std::filesystem::file_size(*options_.log), size);
}

TEST_F(Setting, LogThatCannotBeOpenedIsAProblemAndNoMore) {
  options_.log = scratch_.path() + "/no/such/folder/log";
  Cache cache = Cache::open(options_);
  EXPECT_EQ(cache.problems().size(), 1u);
  EXPECT_EQ(ask(cache, "a"), Outcome::made);
}

TEST_F(Setting, MakerLogMaxCutsWhatIsKept) {
  options_.maker_log_max = 4;
  Cache cache = Cache::open(options_);
  const auto made = cache.get_or_make(
      recipe_of("a"), [] { return Made{.bytes = Bytes(std::string("p")), .log = "warning"}; });
  EXPECT_EQ(made->log, "warn");
}

TEST_F(Setting, VerifyShareMakesSoManyHitsAgain) {
  options_.verify_share = 25;
  Cache cache = Cache::open(options_);
  int made = 0;
  const auto maker = [&] {
    ++made;
    return std::string("same");
  };
  ASSERT_TRUE(cache.get_or_make(recipe_of("a"), maker));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(cache.get_or_make(recipe_of("a"), maker, {.mode = Mode::verify}));
  }
  EXPECT_EQ(made, 1 + 25);
}

TEST_F(Setting, ModeIsTheOneOfRequestsThatNameNone) {
  options_.mode = "require-hit";
  Cache cache = Cache::open(options_);
  EXPECT_EQ(ask(cache, "a"), Outcome::failed);
  const auto made =
      cache.get_or_make(recipe_of("a"), [] { return std::string("x"); }, {.mode = Mode::normal});
  EXPECT_EQ(made->outcome, Outcome::made);
}

TEST_F(Setting, FilesOfTheEnvironmentDecideLikeOptions) {
  const std::string config = scratch_.path() + "/config.toml";
  std::ofstream(config) << "[disk]\ndir = \"" << scratch_.path() << "/by-file\"\nruntime-dir = \""
                        << scratch_.path() << "/run\"\nentry-size-max = \"1K\"\n[memory]\nmemory = false\n";
  ASSERT_EQ(::chmod(config.c_str(), 0600), 0);
  ::setenv("LARDER_CONFIG", config.c_str(), 1);
  Cache cache = Cache::open();
  ::unsetenv("LARDER_CONFIG");
  EXPECT_TRUE(cache.problems().empty());
  EXPECT_TRUE(cache.stats().has_disk);
  EXPECT_EQ(ask(cache, "large", 2000), Outcome::made);
  EXPECT_EQ(ask(cache, "small", 100), Outcome::made);
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_EQ(ask(cache, "large", 2000), Outcome::made);
  EXPECT_EQ(ask(cache, "small", 100), Outcome::disk_hit);
}

}  // namespace
}  // namespace larder
