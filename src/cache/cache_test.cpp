#include "larder/cache.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <latch>
#include <thread>
#include <vector>

#include "cache/testing.hpp"
#include "larder/events.hpp"
#include "store/layout.hpp"
#include "store/store.hpp"

namespace larder {
namespace {

using testing::kLong;
using testing::options_in;
using testing::recipe_of;
using testing::ScratchDirectory;

TEST(Cache, MakesOnceAndThenHitsMemory) {
  Cache cache = Cache::open();
  int made = 0;
  const auto maker = [&] {
    ++made;
    return std::string("bytes");
  };
  const auto first = cache.get_or_make(recipe_of("a"), maker);
  const auto second = cache.get_or_make(recipe_of("a"), maker);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->outcome, Outcome::made);
  EXPECT_EQ(first->reason, Reason::absent);
  EXPECT_EQ(second->outcome, Outcome::memory_hit);
  EXPECT_EQ(second->reason, Reason::none);
  EXPECT_EQ(second->bytes.text(), "bytes");
  EXPECT_EQ(made, 1);
}

TEST(Cache, TellsAndCountsEachRequestOnce) {
  ScratchDirectory scratch;
  std::vector<Outcome> told;
  const auto listening = subscribe([&](const Event& event) {
    if (event.kind == EventKind::request) told.push_back(event.outcome);
  });
  Cache cache = Cache::open(options_in(scratch));
  CounterTotals before = Counters::process_totals();
  const auto maker = [] { return std::string("bytes"); };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(cache.get_or_make(recipe_of("a"), maker));
  ASSERT_TRUE(cache.get(recipe_of("a")));
  EXPECT_FALSE(cache.get(recipe_of("b")));
  EXPECT_EQ(told, (std::vector{Outcome::made, Outcome::memory_hit, Outcome::memory_hit, Outcome::memory_hit,
                               Outcome::missed}));
  CounterTotals news = Counters::process_totals();
  news -= before;
  EXPECT_EQ(news.requests(), 5u);
  EXPECT_EQ(news.requests(), cache.stats().totals.requests());
}

TEST(Cache, TouchesNoFileUnlessTold) {
  ScratchDirectory scratch;
  ::setenv("XDG_CACHE_HOME", scratch.path().c_str(), 1);
  {
    Cache cache = Cache::open();
    ASSERT_TRUE(cache.get_or_make(recipe_of("a"), [] { return std::string("bytes"); }));
    EXPECT_FALSE(cache.stats().has_disk);
  }
  ::unsetenv("XDG_CACHE_HOME");
  EXPECT_TRUE(std::filesystem::is_empty(scratch.path()));
}

TEST(Cache, FindsOnDiskWhatAnEarlierOneMade) {
  ScratchDirectory scratch;
  {
    Cache cache = Cache::open(options_in(scratch));
    const auto made = cache.get_or_make(recipe_of("a"), [] {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return Made{.bytes = Bytes(std::string("bytes")), .log = "a warning"};
    });
    ASSERT_TRUE(made);
  }
  Cache cache = Cache::open(options_in(scratch));
  const auto found = cache.get_or_make(recipe_of("a"), [] { return std::string("other"); });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->outcome, Outcome::disk_hit);
  EXPECT_EQ(found->reason, Reason::none);
  EXPECT_EQ(cache.stats().totals[Reason::absent], 0u) << "a hit has no reason to be counted among the misses";
  EXPECT_EQ(found->bytes.text(), "bytes");
  EXPECT_EQ(found->log, "a warning");
  EXPECT_GE(found->cost, std::chrono::milliseconds(2));
  EXPECT_EQ(cache.stats().totals[Outcome::disk_hit], 1u);
  EXPECT_GT(cache.stats().totals.saved(), std::chrono::milliseconds(1));
}

TEST(Cache, PutsInThePlaceOfWhatIsKeptOnlyWhenTold) {
  for (const bool replaces : {false, true}) {
    ScratchDirectory scratch;
    {
      Cache cache = Cache::open(options_in(scratch));
      cache.put(recipe_of("a"), Bytes(std::string("first")));
      cache.put(recipe_of("a"), Bytes(std::string("second")), {.log = {}, .texts = {}, .replace = replaces});
      EXPECT_EQ(cache.get(recipe_of("a"))->bytes.text(), "second");
    }
    Cache cache = Cache::open(options_in(scratch));
    EXPECT_EQ(cache.get(recipe_of("a"))->bytes.text(), replaces ? "second" : "first");
  }
}

TEST(Cache, KeepsTheCostThatAMakerSaysInsteadOfTheTimeItTook) {
  Cache cache = Cache::open();
  const auto make = [] {
    return Made{.bytes = Bytes(std::string("a")), .log = {}, .keep = true, .cost = std::chrono::hours(1)};
  };
  ASSERT_TRUE(cache.get_or_make(recipe_of("a"), make));
  EXPECT_EQ(cache.get(recipe_of("a"))->cost, std::chrono::hours(1));
}

TEST(Cache, ServesAWaitingWriteFromTheQueue) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.write_behind_delay = std::chrono::hours(1);
  options.memory = false;
  options.close_time = std::chrono::nanoseconds(0);
  Cache cache = Cache::open(options);
  // Nobody can be waiting for a product that was made elsewhere, so it keeps to the delay.
  ASSERT_TRUE(cache.put(recipe_of("a"), Bytes(std::string("bytes"))));
  EXPECT_EQ(cache.stats().pending_entries, 1u);
  int made = 0;
  const auto maker = [&] {
    ++made;
    return std::string("other");
  };
  const auto waiting = cache.get_or_make(recipe_of("a"), maker);
  ASSERT_TRUE(waiting);
  EXPECT_EQ(waiting->bytes.text(), "bytes");
  EXPECT_EQ(made, 0);
  EXPECT_TRUE(cache.flush(kLong));
  EXPECT_EQ(cache.stats().pending_entries, 0u);
  EXPECT_EQ(cache.get_or_make(recipe_of("a"), maker)->outcome, Outcome::disk_hit);
}

TEST(Cache, LosesWhatIsUnwrittenWhenCloseHasNoTime) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.write_behind_delay = std::chrono::hours(1);
  {
    Cache cache = Cache::open(options);
    ASSERT_TRUE(cache.put(recipe_of("a"), Bytes(std::string("bytes"))));
    cache.close(std::chrono::nanoseconds(0));
    const auto after = cache.get_or_make(recipe_of("a"), [] { return std::string("aside"); });
    ASSERT_TRUE(after);
    EXPECT_EQ(after->outcome, Outcome::bypassed);
    EXPECT_EQ(after->reason, Reason::closed);
  }
  Cache cache = Cache::open(options);
  EXPECT_FALSE(cache.get(recipe_of("a")));
}

TEST(Cache, LetsManyThreadsShareOneMaking) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  constexpr int kThreads = 32;
  std::atomic<int> made{0};
  std::atomic<int> right{0};
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      const auto product = cache.get_or_make(recipe_of("a"), [&] {
        ++made;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        return std::string("bytes");
      });
      if (product && product->bytes.text() == "bytes") ++right;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(made, 1);
  EXPECT_EQ(right, kThreads);
  EXPECT_EQ(cache.stats().totals[Outcome::made], 1u);
}

TEST(Cache, PassesAMakersFailureThrough) {
  Cache cache = Cache::open();
  const auto failed = cache.get_or_make(recipe_of("a"), []() -> Result<std::string> {
    return fail(Code::maker_failed, "compile: line 3: no such type");
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::maker_failed);
  EXPECT_EQ(failed.error().what, "compile: line 3: no such type");
  EXPECT_THROW(
      (void)cache.get_or_make(recipe_of("a"), []() -> std::string { throw std::runtime_error("no"); }),
      std::runtime_error);
  EXPECT_EQ(cache.get_or_make(recipe_of("a"), [] { return std::string("now"); })->outcome, Outcome::made);
}

TEST(Cache, RemembersAFailureForAWhileWhenAsked) {
  Options options;
  options.negative_time = std::chrono::hours(1);
  Cache cache = Cache::open(options);
  int calls = 0;
  const auto maker = [&]() -> Result<std::string> {
    ++calls;
    return fail(Code::maker_failed, "no such type");
  };
  const auto first = cache.get_or_make(recipe_of("a"), maker);
  const auto second = cache.get_or_make(recipe_of("a"), maker);
  ASSERT_FALSE(first || second);
  EXPECT_EQ(second.error().what, first.error().what);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(cache.stats().totals[Reason::negative], 1u);
}

TEST(Cache, NeverRemembersATransientFailure) {
  Options options;
  options.negative_time = std::chrono::hours(1);
  Cache cache = Cache::open(options);
  int calls = 0;
  const auto maker = [&]() -> Result<std::string> {
    ++calls;
    return fail(Code::transient, "device busy");
  };
  EXPECT_FALSE(cache.get_or_make(recipe_of("a"), maker));
  EXPECT_FALSE(cache.get_or_make(recipe_of("a"), maker));
  EXPECT_EQ(calls, 2);
}

TEST(Cache, AnswersAsItsModeSays) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  int made = 0;
  const auto maker = [&] { return std::to_string(++made); };
  const Recipe recipe = recipe_of("a");

  EXPECT_EQ(cache.get_or_make(recipe, maker, {.mode = Mode::require_hit}).error().code, Code::not_found);
  EXPECT_EQ(made, 0);
  EXPECT_EQ(cache.get_or_make(recipe, maker, {.mode = Mode::bypass})->outcome, Outcome::bypassed);
  EXPECT_FALSE(cache.get(recipe)) << "bypass must keep nothing";
  EXPECT_EQ(cache.get_or_make(recipe, maker)->bytes.text(), "2");
  EXPECT_EQ(cache.get_or_make(recipe, maker, {.mode = Mode::require_hit})->bytes.text(), "2");
  const auto refreshed = cache.get_or_make(recipe, maker, {.mode = Mode::refresh});
  EXPECT_EQ(refreshed->bytes.text(), "3");
  EXPECT_EQ(refreshed->reason, Reason::refreshed);
  EXPECT_EQ(cache.get_or_make(recipe, maker)->bytes.text(), "3");
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_EQ(Cache::open(options_in(scratch)).get(recipe)->bytes.text(), "3")
      << "refresh must replace the entry";
  EXPECT_EQ(cache.get_or_make(recipe_of("b"), maker, {.mode = Mode::read_only})->outcome, Outcome::made);
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_FALSE(Cache::open(options_in(scratch)).get(recipe_of("b"))) << "read-only must write nothing";
}

TEST(Cache, PutsAHitAsideThatIsMadeDifferently) {
  ScratchDirectory scratch;
  int damaged = 0;
  const auto listening = subscribe([&](const Event& event) {
    if (event.kind == EventKind::damaged && event.reason == Reason::mismatch) ++damaged;
  });
  Cache cache = Cache::open(options_in(scratch));
  ASSERT_TRUE(cache.get_or_make(recipe_of("a"), [] { return std::string("old"); }));
  const Request verify{.mode = Mode::verify};
  EXPECT_EQ(cache
                .get_or_make(
                    recipe_of("a"), [] { return std::string("old"); }, verify)
                ->outcome,
            Outcome::memory_hit);
  const auto differs = cache.get_or_make(
      recipe_of("a"), [] { return std::string("new"); }, verify);
  EXPECT_EQ(differs->bytes.text(), "new");
  EXPECT_EQ(differs->reason, Reason::mismatch);
  EXPECT_EQ(damaged, 1);
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_EQ(Cache::open(options_in(scratch)).get(recipe_of("a"))->bytes.text(), "new");
}

TEST(Cache, ForgetsWhatItsConsumerRefused) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  ASSERT_TRUE(cache.get_or_make(recipe_of("a"), [] { return std::string("refused"); }));
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_TRUE(cache.reject(recipe_of("a")));
  EXPECT_FALSE(cache.reject(recipe_of("a")));
  const auto again = cache.get_or_make(recipe_of("a"), [] { return std::string("good"); });
  EXPECT_EQ(again->outcome, Outcome::made);
  EXPECT_EQ(again->bytes.text(), "good");
}

TEST(Cache, ClearsEveryTierInOneCall) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  Cache cache = Cache::open(options);
  ASSERT_TRUE(cache.get_or_make(recipe_of("written"), [] { return std::string("1"); }));
  ASSERT_TRUE(cache.flush(kLong));
  ASSERT_TRUE(cache.get_or_make(recipe_of("waiting"), [] { return std::string("2"); }));
  EXPECT_GE(cache.clear().entries, 1u);
  EXPECT_FALSE(cache.get(recipe_of("written")));
  EXPECT_FALSE(cache.get(recipe_of("waiting")));
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_FALSE(cache.get(recipe_of("waiting"))) << "a waiting write must not bring it back";
}

TEST(Cache, DoesNotKeepWhatWasBeingMadeWhenItWasCleared) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  const auto product = cache.get_or_make(recipe_of("a"), [&] {
    cache.clear();
    return std::string("stale");
  });
  ASSERT_TRUE(product);
  EXPECT_EQ(product->bytes.text(), "stale");
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_FALSE(Cache::open(options_in(scratch)).get(recipe_of("a")));
  EXPECT_FALSE(cache.get(recipe_of("a")));
}

TEST(Cache, ClearsOnlyWhatIsSelected) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  Recipe other("other");
  ASSERT_TRUE(cache.get_or_make(recipe_of("a"), [] { return std::string("1"); }));
  ASSERT_TRUE(cache.get_or_make(other, [] { return std::string("2"); }));
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_EQ(cache.clear({.older_than = std::chrono::hours(1)}).entries, 0u);
  EXPECT_EQ(cache.clear({.kind = "other"}).entries, 1u);
  EXPECT_TRUE(cache.get(recipe_of("a")));
  EXPECT_FALSE(cache.get(other));
}

TEST(Cache, StandsAsideWhenDisabled) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.disable = true;
  Cache cache = Cache::open(options);
  int made = 0;
  for (int i = 0; i < 2; ++i) {
    const auto product = cache.get_or_make(recipe_of("a"), [&] { return std::to_string(++made); });
    EXPECT_EQ(product->outcome, Outcome::bypassed);
    EXPECT_EQ(product->reason, Reason::disabled);
  }
  EXPECT_EQ(made, 2);
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/store"));
}

TEST(Cache, GoesOnWithoutADiskThatCannotBeUsed) {
  Options options;
  options.dir = "/proc/larder-cannot-be-here";
  Cache cache = Cache::open(options);
  EXPECT_FALSE(cache.stats().has_disk);
  EXPECT_EQ(cache.problems().size(), 1u);
  EXPECT_EQ(cache.get_or_make(recipe_of("a"), [] { return std::string("bytes"); })->bytes.text(), "bytes");
  EXPECT_EQ(cache.get_or_make(recipe_of("a"), [] { return std::string("other"); })->bytes.text(), "bytes");
}

TEST(Cache, CountsOnlyWaitsForAnothersMaking) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.wait_min = std::chrono::milliseconds(2);
  options.wait_max = std::chrono::milliseconds(2);
  Cache cache = Cache::open(options);
  ASSERT_TRUE(cache.get_or_make(recipe_of("free"), [] { return std::string("made"); }));
  EXPECT_EQ(cache.stats().totals[Counter::waits], 0u);
  EXPECT_EQ(cache.stats().totals[Counter::wait_ns], 0u);

  StoreOptions other;
  other.root = *options.dir;
  other.lock_directory = *options.runtime_dir;
  const auto store = Store::open(other);
  ASSERT_TRUE(store);
  const MakeTurn held = (*store)->wait_for_turn(recipe_of("taken").key());
  ASSERT_EQ(held.turn, Turn::mine);
  EXPECT_EQ(cache.get_or_make(recipe_of("taken"), [] { return std::string("made"); })->reason,
            Reason::timed_out);
  EXPECT_EQ(cache.stats().totals[Counter::waits], 1u);
  EXPECT_GE(cache.stats().totals[Counter::wait_ns], 2'000'000u);
}

TEST(Cache, LeavesNoTraceOfAHitThatMayNotWrite) {
  ScratchDirectory scratch;
  const Options options = options_in(scratch);
  StoreOptions same;
  same.root = *options.dir;
  const auto store = Store::open(same);
  ASSERT_TRUE(store);
  const std::int64_t yesterday = Clock::system().unix_ns() - 86'400'000'000'000;
  PutOptions with;
  with.made_at_unix_ns = yesterday;
  ASSERT_TRUE((*store)->put(recipe_of("a"), as_bytes("product"), with));
  const std::string path = scratch.path() + "/store/v1/" + layout::entry_path(recipe_of("a").key()).c_str();
  const timespec then[2] = {{yesterday / 1'000'000'000, 0}, {yesterday / 1'000'000'000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), then, 0), 0);
  const auto is_touched_by = [&](Mode mode) {
    Cache cache = Cache::open(options);
    const auto hit = cache.get_or_make(recipe_of("a"), [] { return std::string("again"); }, {.mode = mode});
    EXPECT_EQ(hit->outcome, Outcome::disk_hit);
    EntryInfo info;
    EXPECT_EQ((*store)->inspect(recipe_of("a").key(), info), Reason::none);
    return info.used_at_unix_ns / 1'000'000'000 != then[0].tv_sec;
  };
  EXPECT_FALSE(is_touched_by(Mode::read_only));
  EXPECT_TRUE(is_touched_by(Mode::normal));
}

TEST(Cache, KeepsNothingOfAMakerThatSaysSo) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  const auto product = cache.get_or_make(
      recipe_of("a"), [] { return Made{.bytes = Bytes(std::string("once")), .keep = false}; });
  EXPECT_EQ(product->bytes.text(), "once");
  EXPECT_EQ(product->outcome, Outcome::made);
  EXPECT_EQ(product->reason, Reason::nothing_to_store);
  EXPECT_EQ(cache.stats().memory_entries, 0u);
  ASSERT_TRUE(cache.flush(kLong));
  EXPECT_FALSE(cache.get(recipe_of("a")));
  EXPECT_EQ(cache.get_or_make(recipe_of("a"), [] { return std::string("again"); })->outcome, Outcome::made);
}

TEST(Cache, WorksInAForkedChildWhileTheParentWrites) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(cache.get_or_make(recipe_of(std::to_string(i)), [] { return std::string(1000, 'x'); }));
#if defined(__SANITIZE_ADDRESS__)
    // The allocator of AddressSanitizer may be locked by the writing thread when the process forks.
    ASSERT_TRUE(cache.flush(kLong));
#endif
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto mine =
          cache.get_or_make(recipe_of("child" + std::to_string(i)), [] { return std::string("c"); });
      const bool flushed = cache.flush(kLong);
      ::_exit(mine && flushed ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  ASSERT_TRUE(cache.flush(kLong));
  Cache later = Cache::open(options_in(scratch));
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(later.get(recipe_of(std::to_string(i))));
    EXPECT_TRUE(later.get(recipe_of("child" + std::to_string(i))));
  }
}

TEST(Cache, NeitherWritesNorWaitsWhenItsProcessExits) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  options.write_behind_delay = std::chrono::hours(1);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // As a program that keeps its cache for ever and ends by returning from main.
    static Cache* kept = nullptr;
    kept = new Cache(Cache::open(options));
    std::exit(kept->put(recipe_of("a"), Bytes(std::string("unwritten"))) ? 42 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 42);
  EXPECT_FALSE(Cache::open(options).get(recipe_of("a"))) << "what was unpublished is lost, not waited for";
}

TEST(Cache, PutsAsideOnDiskWhatIsMadeDifferently) {
  ScratchDirectory scratch;
  Cache cache = Cache::open(options_in(scratch));
  ASSERT_TRUE(cache.get_or_make(recipe_of("a"), [] { return std::string("the doubtful product"); }));
  ASSERT_TRUE(cache.flush(kLong));
  const auto differs =
      cache.get_or_make(recipe_of("a"), [] { return std::string("another"); }, {.mode = Mode::verify});
  EXPECT_EQ(differs->reason, Reason::mismatch);
  int put_aside = 0;
  for (const auto& file : std::filesystem::directory_iterator(scratch.path() + "/store/v1/damaged")) {
    std::ifstream in(file.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    put_aside += bytes.ends_with("the doubtful product");
  }
  EXPECT_EQ(put_aside, 1);
}

TEST(Cache, SaysThatAProductWasRefusedWhenItIsMadeAnew) {
  for (const bool has_disk : {false, true}) {
    ScratchDirectory scratch;
    Options options = options_in(scratch);
    options.persistent = has_disk;
    Cache cache = Cache::open(options);
    const auto maker = [] { return std::string("bytes"); };
    ASSERT_TRUE(cache.get_or_make(recipe_of("a"), maker));
    ASSERT_TRUE(cache.flush(kLong));
    EXPECT_TRUE(cache.reject(recipe_of("a")));
    EXPECT_EQ(cache.get_or_make(recipe_of("a"), maker)->reason, Reason::refused);
    EXPECT_EQ(cache.get_or_make(recipe_of("a"), maker)->outcome, Outcome::memory_hit);
    ASSERT_TRUE(cache.flush(kLong));
    EXPECT_TRUE(cache.erase(recipe_of("a")));
    EXPECT_NE(cache.get_or_make(recipe_of("a"), maker)->reason, Reason::refused);
  }
}

TEST(Cache, MakesOnceForManyProcesses) {
  ScratchDirectory scratch;
  constexpr int kProcesses = 16;
  const std::string marks = scratch.path() + "/made";
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::close(go[1]);
      char byte = 0;
      (void)!::read(go[0], &byte, 1);
      Options options = options_in(scratch);
      options.write_behind_size = 0;
      Cache cache = Cache::open(options);
      const auto product = cache.get_or_make(recipe_of("a"), [&] {
        FILE* const mark = std::fopen(marks.c_str(), "a");
        std::fputc('x', mark);
        std::fclose(mark);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return std::string("bytes");
      });
      ::_exit(product && product->bytes.text() == "bytes" ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(go[0]);
  ::close(go[1]);
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(std::filesystem::file_size(marks), 1u);
}

}  // namespace
}  // namespace larder
