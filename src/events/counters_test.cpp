#include "larder/counters.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace larder {
namespace {

using namespace std::chrono_literals;

// The child's verdict: true when `check` held there.
template <typename Check>
bool holds_in_child(Check check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

TEST(Counters, CountWhatTheyWereTold) {
  Counters counters;
  counters.count(Outcome::memory_hit, 5ns);
  counters.count(Outcome::memory_hit, 7ns);
  counters.count(Outcome::joined, 100ns);
  counters.count(Outcome::made);
  counters.count(Reason::absent);
  counters.count(Counter::evicted_bytes, 4096);
  const CounterTotals totals = counters.totals();
  EXPECT_EQ(totals[Outcome::memory_hit], 2u);
  EXPECT_EQ(totals.saved(Outcome::memory_hit), 12ns);
  EXPECT_EQ(totals[Outcome::made], 1u);
  EXPECT_EQ(totals[Reason::absent], 1u);
  EXPECT_EQ(totals[Counter::evicted_bytes], 4096u);
  EXPECT_EQ(totals.saved(), 112ns);
  EXPECT_EQ(totals.requests(), 4u);
  EXPECT_EQ(totals.hits(), 3u);
  EXPECT_EQ(totals[Outcome::disk_hit], 0u);
}

TEST(Counters, KeepEveryCountInAPlaceOfItsOwn) {
  std::vector<int> uses(CounterTotals::kWords, 0);
  for (unsigned i = 1; i <= 9; ++i) {
    ++uses.at(CounterTotals::place(static_cast<Outcome>(i)));
    ++uses.at(CounterTotals::place(static_cast<Outcome>(i)) + 1);
  }
  for (unsigned i = 0; i <= 28; ++i) ++uses.at(CounterTotals::place(static_cast<Reason>(i)));
  for (unsigned i = 0; i < kCounterCount; ++i) ++uses.at(CounterTotals::place(static_cast<Counter>(i)));
  for (const int use : uses) EXPECT_LE(use, 1);
}

TEST(Counters, NameEveryCounterDifferently) {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i < kCounterCount; ++i) names.push_back(name(static_cast<Counter>(i)));
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(std::ranges::find(names, "unknown"), names.end());
}

TEST(Counters, KeepSetsApartAndSumThemForTheProcess) {
  const CounterTotals before = Counters::process_totals();
  Counters one;
  Counters two;
  one.count(Outcome::made);
  two.count(Outcome::failed);
  EXPECT_EQ(one.totals()[Outcome::failed], 0u);
  EXPECT_EQ(two.totals()[Outcome::made], 0u);
  CounterTotals since = Counters::process_totals();
  since -= before;
  EXPECT_EQ(since[Outcome::made], 1u);
  EXPECT_EQ(since[Outcome::failed], 1u);
}

TEST(Counters, RememberForTheProcessWhatADestroyedSetCounted) {
  const CounterTotals before = Counters::process_totals();
  {
    Counters counters;
    counters.count(Outcome::made);
  }
  Counters successor;  // has the number that became free
  EXPECT_EQ(successor.totals()[Outcome::made], 0u);
  successor.count(Outcome::made);
  EXPECT_EQ(successor.totals()[Outcome::made], 1u);
  CounterTotals since = Counters::process_totals();
  since -= before;
  EXPECT_EQ(since[Outcome::made], 2u);
}

TEST(Counters, LoseNothingWhenThreadsEnd) {
  Counters counters;
  constexpr std::uint64_t kTimes = 20'000;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t n = 0; n < kTimes; ++n) counters.count(Outcome::memory_hit, 2ns);
    });
  }
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {  // sums never go back while threads count and end
    const std::uint64_t now = counters.totals()[Outcome::memory_hit];
    EXPECT_GE(now, last);
    last = now;
  }
  threads.clear();
  EXPECT_EQ(counters.totals()[Outcome::memory_hit], 8 * kTimes);
  EXPECT_EQ(counters.totals().saved(), Nanoseconds(8 * kTimes * 2));
}

TEST(Counters, ShowAnotherThreadsCountsWhileItLives) {
  Counters counters;
  std::latch counted(1);
  std::latch seen(1);
  std::jthread thread([&] {
    counters.count(Outcome::made);
    counted.count_down();
    seen.wait();
  });
  counted.wait();
  EXPECT_EQ(counters.totals()[Outcome::made], 1u);
  seen.count_down();
}

TEST(Counters, StandMoreSetsThanAThreadHadRoomFor) {
  std::vector<std::unique_ptr<Counters>> sets;
  for (unsigned i = 0; i < 200; ++i) {
    sets.push_back(std::make_unique<Counters>());
    for (unsigned n = 0; n <= i; ++n) sets.back()->count(Outcome::made);
  }
  for (unsigned i = 0; i < 200; ++i) EXPECT_EQ(sets[i]->totals()[Outcome::made], i + 1);
}

TEST(Counters, SetsComeAndGoWhileOtherThreadsCountElsewhere) {
  Counters lasting;
  std::atomic<bool> stop{false};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        lasting.count(Outcome::made);
        Counters passing;
        for (int n = 0; n < 10; ++n) passing.count(Outcome::failed);
        EXPECT_EQ(passing.totals()[Outcome::failed], 10u);
      }
    });
  }
  for (int i = 0; i < 50; ++i) static_cast<void>(Counters::process_totals());
  stop = true;
}

pthread_key_t late_key;
void count_late(void* counters) {
  static_cast<Counters*>(counters)->count(Outcome::failed, 3ns);
}

TEST(Counters, CountEvenWhatAThreadDoesWhileItEnds) {
  Counters counters;
  ASSERT_EQ(pthread_key_create(&late_key, count_late), 0);
  std::thread([&] {
    pthread_setspecific(late_key, &counters);
    counters.count(Outcome::made);
  }).join();  // the key's destructor runs after the thread_local ones
  pthread_key_delete(late_key);
  EXPECT_EQ(counters.totals()[Outcome::made], 1u);
  EXPECT_EQ(counters.totals()[Outcome::failed], 1u);
  EXPECT_EQ(counters.totals().saved(), 3ns);
}

TEST(Counters, BeginAtZeroInAForkedChild) {
  Counters counters;
  counters.count(Outcome::made);
  std::latch counted(1);
  std::atomic<bool> stop{false};
  std::jthread busy([&] {  // counts, and takes the lock for reading, across the fork
    counters.count(Outcome::failed);
    counted.count_down();
    while (!stop.load(std::memory_order_relaxed)) {
      counters.count(Outcome::memory_hit);
      static_cast<void>(counters.totals());
    }
  });
  counted.wait();
  EXPECT_TRUE(holds_in_child([&] {
    const bool begins_at_zero = counters.totals() == CounterTotals{};
    counters.count(Outcome::made);
    Counters fresh;
    fresh.count(Outcome::made);
    return begins_at_zero && counters.totals()[Outcome::made] == 1 &&
           counters.totals()[Outcome::failed] == 0 && Counters::process_totals()[Outcome::made] == 2;
  }));
  EXPECT_EQ(counters.totals()[Outcome::made], 1u);
  EXPECT_EQ(counters.totals()[Outcome::failed], 1u);
  stop = true;
}

}  // namespace
}  // namespace larder
