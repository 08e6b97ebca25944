#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <latch>
#include <semaphore>
#include <thread>

#include "cache/counts.hpp"
#include "cache/late_notes.hpp"
#include "cache/misses.hpp"
#include "cache/start_order.hpp"
#include "cache/testing.hpp"
#include "store/layout.hpp"
#include "store/store.hpp"

namespace larder {
namespace {

using testing::open_store;
using testing::options_in;
using testing::recipe_of;
using testing::ScratchDirectory;

Result<Product> make(Cache& cache, std::string_view name, const Request& how = {}) {
  return cache.get_or_make(
      recipe_of(name), [&] { return std::string("product of ") + std::string(name); }, how);
}

TEST(Counts, AddUpOverProcesses) {
  ScratchDirectory scratch;
  constexpr int kProcesses = 8;
  for (int i = 0; i < kProcesses; ++i) {
    if (::fork() != 0) continue;
    {
      Cache cache = Cache::open(options_in(scratch));
      (void)make(cache, "shared");
      (void)make(cache, "shared");
      (void)make(cache, "own " + std::to_string(i));
    }
    ::_exit(0);
  }
  while (::wait(nullptr) > 0) continue;
  const auto store = open_store(scratch);
  const Counts counts = read_counts(store->notes());
  EXPECT_EQ(counts.totals.requests(), 3u * kProcesses);
  EXPECT_EQ(counts.totals[Outcome::made], 1u + kProcesses);
  EXPECT_EQ((*counts.histograms)[Measure::binary_size].count(), 1u + kProcesses);
  EXPECT_GT(counts.since_unix_ns, 0);
}

TEST(Counts, AreTheSameBeforeAndAfterFolding) {
  ScratchDirectory scratch;
  const auto store = open_store(scratch);
  const Notes notes = store->notes();
  CounterTotals one;
  one.words[CounterTotals::place(Outcome::made)] = 1;
  const HistogramSet none;
  const std::int64_t now = Clock::system().unix_ns();
  constexpr std::uint64_t kMany = 400;  // more than gathers before it becomes old
  for (std::uint64_t i = 0; i < kMany; ++i) ASSERT_TRUE(add_counts(notes, one, none, now));
  ASSERT_NE(notes.written_at(layout::kCountsOlder), 0);
  EXPECT_EQ(read_counts(notes).totals[Outcome::made], kMany);
  fold_counts(notes, now + 60'000'000'000);
  EXPECT_EQ(notes.written_at(layout::kCountsOlder), 0);
  EXPECT_EQ(read_counts(notes).totals[Outcome::made], kMany);
}

TEST(Counts, CountNothingTwiceWhenAFoldDiesHalfway) {
  ScratchDirectory scratch;
  const auto store = open_store(scratch);
  const Notes notes = store->notes();
  CounterTotals one;
  one.words[CounterTotals::place(Outcome::made)] = 1;
  const std::int64_t now = Clock::system().unix_ns();
  for (int i = 0; i < 400; ++i) add_counts(notes, one, HistogramSet(), now);
  const std::string old = notes.read(layout::kCountsOlder, 1 << 20);
  fold_counts(notes, now + 60'000'000'000);
  ASSERT_TRUE(notes.replace(layout::kCountsOlder, old));  // as if it had died before removing it
  EXPECT_EQ(read_counts(notes).totals[Outcome::made], 400u);
  fold_counts(notes, now + 120'000'000'000);
  EXPECT_EQ(read_counts(notes).totals[Outcome::made], 400u);
}

TEST(Counts, OfAProcessThatOnlyHitsAndIsKilledAreNotLost) {
  ScratchDirectory scratch;
  {
    Cache cache = Cache::open(options_in(scratch));
    (void)make(cache, "kept");
  }
  const auto store = open_store(scratch);
  ASSERT_EQ(read_counts(store->notes()).totals.requests(), 1u);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Cache cache = Cache::open(options_in(scratch));
    for (int i = 0; i < 5; ++i) (void)make(cache, "kept");
    for (;;) ::pause();
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (read_counts(store->notes()).totals.hits() < 5 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const Counts counts = read_counts(store->notes());
  EXPECT_EQ(counts.totals[Outcome::disk_hit], 1u);
  EXPECT_EQ(counts.totals[Outcome::memory_hit], 4u);
  EXPECT_EQ(counts.totals[Reason::absent], 1u) << "a hit has no reason";
  EXPECT_EQ((*counts.histograms)[Measure::hit_time].count(), 5u);
}

long threads_now() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST(Counts, OfAGuestStartNoThreadBeforeItTakesThemUp) {
  ScratchDirectory scratch;
  const auto store = open_store(scratch);
  Options options = options_in(scratch);
  options.write_behind_size = 0;
  Cache cache = Cache::open(options);
  LateNotes::put_off(cache);
  LateNotes::take_up(cache);  // nothing was asked
  std::thread([] {}).join();  // a sanitizer may start one of its own beside the first
  const long before = threads_now();
  (void)make(cache, "a");
  (void)make(cache, "a");
  EXPECT_EQ(threads_now(), before);
  LateNotes::take_up(cache);
  EXPECT_EQ(threads_now(), before + 1);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (read_counts(store->notes()).totals.requests() < 2 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(read_counts(store->notes()).totals.requests(), 2u);
}

TEST(Misses, AreForgottenWhenTheyAreMeant) {
  ScratchDirectory scratch;
  const auto store = open_store(scratch);
  ASSERT_TRUE(add_misses(
      store->notes(), {{recipe_of("a"), Reason::absent, 1, "x"}, {recipe_of("b"), Reason::absent, 2, "y"}}));
  clear_misses(store->notes(), [](const Miss& miss) { return miss.program == "x"; });
  const auto left = read_misses(store->notes(), 10);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].program, "y");
  clear_misses(store->notes(), [](const Miss&) { return true; });
  EXPECT_TRUE(read_misses(store->notes(), 10).empty());
}

TEST(StartOrder, IsForgottenForAllPrograms) {
  ScratchDirectory scratch;
  for (const char* program : {"one", "two"}) {
    Options options = options_in(scratch);
    options.program = program;
    Cache cache = Cache::open(options);
    (void)make(cache, "a");
  }
  const auto store = open_store(scratch);
  ASSERT_FALSE(read_start_order(store->notes(), "one").empty());
  clear_start_orders(store->notes());
  EXPECT_TRUE(read_start_order(store->notes(), "one").empty());
  EXPECT_TRUE(read_start_order(store->notes(), "two").empty());
  EXPECT_FALSE(read_misses(store->notes(), 10).empty()) << "other notes stay";
}

TEST(Counts, AreNothingWhenTheirNotesAreGarbage) {
  ScratchDirectory scratch;
  const auto store = open_store(scratch);
  ASSERT_TRUE(store->notes().replace(layout::kCounts, std::string(5000, 'L')));
  EXPECT_EQ(read_counts(store->notes()).totals.requests(), 0u);
}

TEST(Misses, AreRememberedNewestFirst) {
  ScratchDirectory scratch;
  {
    Cache cache = Cache::open(options_in(scratch));
    (void)make(cache, "first");
    (void)make(cache, "second");
    (void)make(cache, "second");
  }
  const auto misses = read_misses(open_store(scratch)->notes(), 10);
  ASSERT_EQ(misses.size(), 2u);
  EXPECT_EQ(misses[0].recipe, recipe_of("second"));
  EXPECT_EQ(misses[0].reason, Reason::absent);
  EXPECT_FALSE(misses[0].program.empty());
  EXPECT_EQ(misses[1].recipe, recipe_of("first"));
}

TEST(Misses, GiveTheRecipeBackOnlyWhole) {
  const std::string payload = encode_miss({recipe_of("a"), Reason::evicted, 5, "program"});
  const auto back = decode_miss(payload);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->recipe, recipe_of("a"));
  EXPECT_EQ(back->reason, Reason::evicted);
  EXPECT_EQ(back->program, "program");
  for (std::size_t cut = 0; cut < payload.size(); ++cut) {
    const auto short_one = decode_miss(payload.substr(0, cut));
    EXPECT_FALSE(short_one && short_one->recipe == recipe_of("a")) << cut;
  }
}

TEST(StartOrder, PutsWhatIsFlaggedFirst) {
  const FirstUse a{{1, 1}, false}, b{{2, 2}, true}, c{{3, 3}, false};
  EXPECT_EQ(decode_start_order(encode_start_order({a, b, c})), (std::vector<FirstUse>{b, a, c}));
  EXPECT_TRUE(decode_start_order("garbage").empty());
}

TEST(Preload, LoadsWhatThePreviousRunUsed) {
  ScratchDirectory scratch;
  {
    Cache cache = Cache::open(options_in(scratch));
    EXPECT_FALSE(cache.preload()) << "there was no run before";
    for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(make(cache, name));
  }
  Cache cache = Cache::open(options_in(scratch));
  ASSERT_TRUE(cache.preload());
  ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
  EXPECT_EQ(cache.stats().preloaded_entries, 3u);
  EXPECT_EQ(make(cache, "b")->outcome, Outcome::memory_hit);
}

TEST(Preload, RemembersTheOrderOfARunThatWasItselfPreloaded) {
  ScratchDirectory scratch;
  {
    Cache cache = Cache::open(options_in(scratch));
    for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(make(cache, name));
  }
  {
    Cache cache = Cache::open(options_in(scratch));
    ASSERT_TRUE(cache.preload());
    ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
    ASSERT_TRUE(make(cache, "c"));
    ASSERT_TRUE(make(cache, "a", {.load_first = true}));
  }
  Options options = options_in(scratch);
  const auto store = open_store(scratch);
  Cache cache = Cache::open(options);
  ASSERT_TRUE(cache.preload());
  ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
  EXPECT_EQ(cache.stats().preloaded_entries, 2u)
      << "what was preloaded and not used is not the program's any more";
}

TEST(Preload, LeavesTheProductsOfAnotherDriverUnread) {
  ScratchDirectory scratch;
  const auto recipe = [](std::string_view driver, int i) {
    return Recipe("program").add("driver", driver).add("n", std::to_string(i));
  };
  const std::string large(200'000, 'p');
  {
    Cache cache = Cache::open(options_in(scratch));
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(cache.get_or_make(recipe("old", i), [&] { return large; }));
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(cache.get_or_make(recipe("new", i), [&] { return large; }));
  }
  const auto read_bytes = [] {
    FILE* const file = std::fopen("/proc/self/io", "r");
    if (file == nullptr) return 0ull;
    unsigned long long read = 0;
    (void)!std::fscanf(file, "rchar: %llu", &read);
    std::fclose(file);
    return read;
  };
  Cache cache = Cache::open(options_in(scratch));
  const auto before = read_bytes();
  ASSERT_TRUE(
      cache.preload([](const Recipe& kept) { return as_text(kept.ingredients()[0].bytes) == "new"; }));
  ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
  const auto read = read_bytes() - before;
  EXPECT_EQ(cache.stats().preloaded_entries, 2u);
  EXPECT_EQ(cache.stats().preload_unfit, 4u);
  EXPECT_LT(read, 2 * large.size() + 50'000) << "the products of the old driver were read";
}

TEST(Preload, KeepsToItsBounds) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  {
    Cache cache = Cache::open(options);
    for (int i = 0; i < 8; ++i) {
      ASSERT_TRUE(cache.get_or_make(recipe_of(std::to_string(i)), [] { return std::string(1000, 'x'); }));
    }
  }
  options.preload_size_max = 3500;
  Cache cache = Cache::open(options);
  ASSERT_TRUE(cache.preload());
  ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
  EXPECT_EQ(cache.stats().preloaded_entries, 3u);
}

// A store in which an earlier run used `names` first, in this order.
void use_first(const Options& options, const std::vector<std::string>& names,
               const std::string& load_first = "") {
  Cache cache = Cache::open(options);
  for (const std::string& name : names) ASSERT_TRUE(make(cache, name, {.load_first = name == load_first}));
}

TEST(Preload, EndsWhenItsTimeIsOver) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  use_first(options, {"a", "b", "c", "d"});
  options.preload_time_max = std::chrono::nanoseconds(1);
  Cache cache = Cache::open(options);
  ASSERT_TRUE(cache.preload());
  ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
  EXPECT_LE(cache.stats().preloaded_entries, 1u);
}

TEST(Preload, LoadsWhatIsFlaggedBeforeAllElse) {
  ScratchDirectory scratch;
  Options options = options_in(scratch);
  use_first(options, {"a", "b", "flagged"}, "flagged");
  Cache cache = Cache::open(options);
  std::vector<std::string> asked;
  ASSERT_TRUE(cache.preload([&](const Recipe& recipe) {
    asked.emplace_back(as_text(recipe.ingredients()[0].bytes));
    return true;
  }));
  ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
  EXPECT_EQ(asked, (std::vector<std::string>{"flagged", "a", "b"}));
}

TEST(Preload, RunsOnAThreadOfLowPriority) {
  ScratchDirectory scratch;
  use_first(options_in(scratch), {"a"});
  Cache cache = Cache::open(options_in(scratch));
  const auto priority = [] { return ::getpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid))); };
  const int mine = priority();
  std::atomic<int> its{0};
  ASSERT_TRUE(cache.preload([&](const Recipe&) {
    its = priority();
    return true;
  }));
  ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
  EXPECT_GT(its, mine) << "a higher number is a lower priority";
  EXPECT_EQ(priority(), mine) << "only the thread's own";
}

TEST(Preload, IsNeverWaitedFor) {
  ScratchDirectory scratch;
  use_first(options_in(scratch), {"a", "b"});
  Cache cache = Cache::open(options_in(scratch));
  std::counting_semaphore<8> held(0);
  std::latch let_go(1);
  ASSERT_TRUE(cache.preload([&](const Recipe&) {
    held.release();
    let_go.wait();
    return true;
  }));
  held.acquire();
  // The preload stands still, and requests load for themselves.
  EXPECT_EQ(make(cache, "a")->outcome, Outcome::disk_hit);
  EXPECT_EQ(make(cache, "b")->outcome, Outcome::disk_hit);
  EXPECT_EQ(make(cache, "c")->outcome, Outcome::made);
  let_go.count_down();
  ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
  EXPECT_EQ(make(cache, "a")->outcome, Outcome::memory_hit);
}

TEST(Preload, SurvivesEntriesThatAreGoneOrDamaged) {
  ScratchDirectory scratch;
  use_first(options_in(scratch), {"gone", "damaged", "sound"});
  const auto file_of = [&](std::string_view name) {
    const std::string hex = recipe_of(name).key().hex();
    return scratch.path() + "/store/v1/" + hex.substr(0, 2) + "/" + hex.substr(2);
  };
  std::filesystem::remove(file_of("gone"));
  std::filesystem::resize_file(file_of("damaged"), 200);
  Cache cache = Cache::open(options_in(scratch));
  ASSERT_TRUE(cache.preload());
  ASSERT_TRUE(cache.wait_for_preload(std::chrono::seconds(20)));
  EXPECT_EQ(cache.stats().preloaded_entries, 1u);
  EXPECT_EQ(make(cache, "sound")->outcome, Outcome::memory_hit);
  EXPECT_EQ(make(cache, "damaged")->outcome, Outcome::made);
}

TEST(Preload, IsStoppedByClearAndBringsNothingBack) {
  ScratchDirectory scratch;
  {
    Cache cache = Cache::open(options_in(scratch));
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(make(cache, std::to_string(i)));
  }
  Cache cache = Cache::open(options_in(scratch));
  ASSERT_TRUE(cache.preload());
  cache.clear();
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(cache.get(recipe_of(std::to_string(i))));
}

TEST(Clear, ForgetsTheEntriesOfOneProgram) {
  ScratchDirectory scratch;
  Options mine = options_in(scratch);
  mine.program = "mine";
  Options other = options_in(scratch);
  other.program = "other";
  {
    Cache cache = Cache::open(mine);
    ASSERT_TRUE(make(cache, "of mine"));
  }
  {
    Cache cache = Cache::open(other);
    ASSERT_TRUE(make(cache, "of other"));
  }
  Cache cache = Cache::open(other);
  EXPECT_EQ(cache.clear({.program = "mine"}).entries, 1u);
  EXPECT_FALSE(cache.get(recipe_of("of mine")));
  EXPECT_TRUE(cache.get(recipe_of("of other")));
}

}  // namespace
}  // namespace larder
