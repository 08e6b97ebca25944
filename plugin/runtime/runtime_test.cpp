// The run-time library, driven by a function that does by hand what the plugin makes rewritten code do.
#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "larder_reuse.h"

namespace {

struct Environment {
  Environment(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Environment() { unsetenv(name_); }
  const char* name_;
};

larder_reuse_totals totals() {
  larder_reuse_totals result;
  larder_reuse_read_totals(&result);
  return result;
}

larder_reuse_site site_of(uint64_t flags = 0, uint64_t cost = 1000) {
  return {LARDER_REUSE_VERSION, 1, 1, flags, cost, "function", 0, 0, LARDER_REUSE_ADAPTIVE, 7};
}

// One memoized function of one word; `body` is what it does.
class Memoized {
 public:
  Memoized(const larder_reuse_site& site, larder_reuse_place& place, std::function<uint64_t(uint64_t)> body)
      : site_(site), place_(place), body_(std::move(body)) {}

  __attribute__((noinline)) uint64_t operator()(uint64_t key) {
    const uint64_t hash = key * larder_reuse_odd[0];
    const uint64_t* slots = *const_cast<uint64_t* volatile*>(&place_.slots);
    if (slots != nullptr) {
      const volatile uint64_t* slot = slots + (hash >> place_.shift) * 2;
      if (slot[0] == key) {
        const uint64_t value = slot[1];
        if (slot[0] == key) return value;
      }
      return compute(hash, key);
    }
    if (--place_.countdown >= 0) {
      ++left;
      return body_(key);
    }
    uint64_t value = 0;
    switch (larder_reuse_slow(&place_, &site_, hash, &key, &value)) {
      case LARDER_REUSE_HIT:
        ++learned;
        return value;
      case LARDER_REUSE_COMPUTE:
        return compute(hash, key);
      default:
        ++left;
        return body_(key);
    }
  }
  bool is_on() const { return place_.slots != nullptr; }

  uint64_t worked = 0;   // calls that computed and stored
  uint64_t left = 0;     // calls that the table kept out of
  uint64_t learned = 0;  // hits out of line

 private:
  uint64_t compute(uint64_t hash, uint64_t key) {
    ++worked;
    const uint64_t value = body_(key);
    const bool is_sampled = (hash ^ hash >> 32) * larder_reuse_odd[1] >> LARDER_REUSE_SAMPLE_SHIFT == 0;
    if (place_.room == 0 || is_sampled || !store(hash, key, value))
      larder_reuse_put_small(&place_, &site_, hash, key, value);
    return value;
  }
  bool store(uint64_t hash, uint64_t key, uint64_t value) {
    volatile larder_reuse_place& place = place_;
    const uint64_t room = place.room;
    const uint64_t busy = place.busy;
    place.busy = busy + 1;
    uint64_t* const slots = place.slots;
    if (slots != nullptr) {
      volatile uint64_t* slot = slots + (hash >> place.shift) * 2;
      place.slots = nullptr;
      slot[0] = key;
      slot[1] = value;
      place.slots = slots;
      place.room = room - 1;
    }
    place.busy = busy;
    return slots != nullptr;
  }
  const larder_reuse_site& site_;
  larder_reuse_place& place_;
  std::function<uint64_t(uint64_t)> body_;
};

// Long enough to be worth a table, whatever the machine.
uint64_t slow_square(uint64_t key) {
  volatile uint64_t result = 0;
  for (int i = 0; i < 200; ++i) result = result + key * key;
  return result / 200;
}

uint64_t on_a_thread(const std::function<uint64_t()>& body) {
  uint64_t result = 0;
  std::thread([&] { result = body(); }).join();
  return result;
}

TEST(ReuseTable, SwitchesOnForKeysThatComeBackAndThenComputesEachOnce) {
  const larder_reuse_site site = site_of();
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    for (uint64_t i = 0; i < 4000; ++i) EXPECT_EQ(square(i % 8), (i % 8) * (i % 8));
    EXPECT_TRUE(square.is_on());
    EXPECT_LE(square.worked, 16u);
    return 0;
  });
}

TEST(ReuseTable, GivesEveryKeyItsOwnValueIncludingZeroAndTheKeyThatMarksAnEmptySlot) {
  const larder_reuse_site site = site_of(LARDER_REUSE_ALWAYS);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized tripled(site, place, [](uint64_t key) { return key * 3 + 1; });
    std::mt19937_64 random(1);
    for (int i = 0; i < 200000; ++i) {
      const uint64_t key = i % 3 == 0 ? random() : random() % 300;
      EXPECT_EQ(tripled(key), key * 3 + 1);
    }
    for (const uint64_t key : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) EXPECT_EQ(tripled(key), key * 3 + 1);
    return 0;
  });
}

TEST(ReuseTable, SwitchesOffWhereNothingComesBackAndLooksAgainAfterAPauseThatDoubles) {
  const larder_reuse_site site = site_of();
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    uint64_t key = 0;
    std::vector<uint64_t> pauses;
    while (pauses.size() < 4) {
      const uint64_t before = square.left;
      while (square.left == before) square(++key);
      pauses.push_back(static_cast<uint64_t>(place.countdown));
      place.countdown = 0;
    }
    for (std::size_t i = 1; i < pauses.size(); ++i) EXPECT_EQ(pauses[i], pauses[i - 1] * 2);
    EXPECT_FALSE(square.is_on());
    // 64 calls, or the hundredth part of the pause before, are all that each look costs.
    uint64_t paused = 0;
    for (const uint64_t pause : pauses) paused += pause;
    EXPECT_LT(square.worked, 4 * 80u + paused / 100);
    return 0;
  });
}

TEST(ReuseTable, DoesNotStayOffForEverWhenReuseBegins) {
  const larder_reuse_site site = site_of();
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    for (uint64_t i = 0; i < 1000; ++i) square(i);
    EXPECT_FALSE(square.is_on());
    for (uint64_t i = 0; i < 40000; ++i) square(i % 5);
    EXPECT_TRUE(square.is_on());
    return 0;
  });
}

TEST(ReuseTable, DoesNotStayOnForEverWhenReuseEnds) {
  const larder_reuse_site site = site_of();
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    for (uint64_t i = 0; i < 1000; ++i) square(i % 5);
    EXPECT_TRUE(square.is_on());
    for (uint64_t i = 0; i < 40000; ++i) square(1000 + i);
    EXPECT_FALSE(square.is_on());
    return 0;
  });
}

TEST(ReuseTable, SeesKeysThatComeBackInALongCycle) {
  const larder_reuse_site site = site_of();
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    // Each cycle is gone through ten times, so that what an earlier look stored is of no use.
    for (uint64_t i = 0; i < 700000 && !square.is_on(); ++i) square(i % 300 + i / 3000 * 1000);
    EXPECT_TRUE(square.is_on());
    return 0;
  });
}

// The most of thirty items that fit 120: three thousand different results, in a tree of some hundred million
// calls.
uint64_t knapsack(Memoized*& self, uint64_t key) {
  const uint64_t items = key >> 32;  // as the plugin packs two ints
  const uint64_t limit = key & 0xffffffff;
  if (items == 0) return 0;
  const uint64_t weight = items * 7 % 11 + 6;
  const uint64_t without = (*self)((items - 1) << 32 | limit);
  if (weight > limit) return without;
  return std::max(without, weight + (*self)((items - 1) << 32 | (limit - weight)));
}

TEST(ReuseTable, FindsTheOverlapOfADeepTreeAndHoldsAllOfIt) {
  const larder_reuse_site site = site_of(LARDER_REUSE_TREE);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized* self = nullptr;
    Memoized memoized(site, place, [&](uint64_t key) { return knapsack(self, key); });
    self = &memoized;
    EXPECT_EQ(memoized(uint64_t{30} << 32 | 120), 120u);
    EXPECT_LT(memoized.worked + memoized.left, 20000u);
    EXPECT_LE(place.shift, 64u - 10u);
    return 0;
  });
}

// What it decides by is time, which a busy machine may take from the one side or the other; not each time,
// though.
TEST(ReuseTable, LeavesAShallowTreeOfNewKeysAlone) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer makes the function as dear as its table";
#endif
  const larder_reuse_site site = site_of(LARDER_REUSE_TREE);
  bool is_left_alone = false;
  for (int attempt = 0; attempt < 5 && !is_left_alone; ++attempt) {
    on_a_thread([&] {
      thread_local larder_reuse_place place{};
      Memoized* self = nullptr;
      Memoized sums(site, place,
                    [&](uint64_t n) { return n % 8 == 0 ? n : (*self)(n - 1) + (*self)(n - n % 8); });
      self = &sums;
      for (uint64_t i = 1; i < 20000; ++i) sums(i * 8 + 3);
      is_left_alone = !sums.is_on() && sums.worked < 4000;
      return 0;
    });
  }
  EXPECT_TRUE(is_left_alone);
}

TEST(ReuseTable, StaysOutsideOfALinearRecursionWhoseCallsFromOutsideComeBack) {
  const larder_reuse_site site = site_of(LARDER_REUSE_LINEAR);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized power(site, place, slow_square);  // what calls itself is within: no level but the outermost
    for (uint64_t i = 0; i < 1000; ++i) power(i % 3);
    EXPECT_TRUE(power.is_on());
    EXPECT_EQ(place.stack_span, 0u);
    EXPECT_EQ(power.worked, 3u);
    return 0;
  });
}

TEST(ReuseTable, ClearForgetsAllAndBeginsAnew) {
  const larder_reuse_site site = site_of();
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    for (uint64_t i = 0; i < 4000; ++i) square(i % 8);
    EXPECT_TRUE(square.is_on());
    const uint64_t before = square.worked;
    larder_reuse_clear();
    EXPECT_FALSE(square.is_on());
    for (uint64_t i = 0; i < 8; ++i) EXPECT_EQ(square(i), i * i);
    EXPECT_EQ(square.worked, before + 8);
    return 0;
  });
}

TEST(ReuseTable, IsToldToWorkWithoutWhileAStoreIsUnderWay) {
  const larder_reuse_site site = site_of(LARDER_REUSE_ALWAYS);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized same(site, place, [](uint64_t key) { return key; });
    EXPECT_EQ(same(5), 5u);
    EXPECT_TRUE(same.is_on());
    uint64_t* const slots = place.slots;
    place.busy = 1;  // as a signal handler finds it
    place.slots = nullptr;
    for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(same(i), i);
    EXPECT_EQ(place.slots, nullptr);
    EXPECT_EQ(same.worked, 1u);
    place.slots = slots;
    place.busy = 0;
    EXPECT_EQ(same(6), 6u);
    EXPECT_EQ(same.worked, 2u);
    return 0;
  });
}

TEST(ReuseTable, MakesATreeOfCallsLinear) {
  const larder_reuse_site site = site_of(LARDER_REUSE_TREE);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized* self = nullptr;
    Memoized fibonacci(site, place, [&](uint64_t n) { return n < 2 ? n : (*self)(n - 1) + (*self)(n - 2); });
    self = &fibonacci;
    EXPECT_EQ(fibonacci(80), 23416728348467685u);
    EXPECT_LT(fibonacci.worked, 100u);
    return 0;
  });
}

TEST(ReuseTable, GrowsWhenItLosesKeysThatComeBackAndKeepsWhatItHad) {
  const larder_reuse_site site = site_of(LARDER_REUSE_ALWAYS);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    for (int round = 0; round < 60; ++round)
      for (uint64_t i = 0; i < 3000; ++i) EXPECT_EQ(square(i), i * i);
    EXPECT_LE(place.shift, 64u - 12u);
    const uint64_t before = square.worked;
    for (uint64_t i = 0; i < 3000; ++i) square(i);
    EXPECT_LT(square.worked - before, 600u);
    return 0;
  });
}

TEST(ReuseTable, GrowsNoLargerThanItsWindowForMillionsOfKeysThatNeverComeBack) {
  const larder_reuse_site site = site_of(LARDER_REUSE_ALWAYS);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized same(site, place, [](uint64_t key) { return key; });
    for (uint64_t i = 0; i < 2000000; ++i) EXPECT_EQ(same(i), i);
    EXPECT_GE(place.shift, 64u - 10u) << "a look sees 1024 calls at most";
    return 0;
  });
}

TEST(ReuseTable, FreesWhatAThreadHadWhenItEnds) {
  const larder_reuse_site site = site_of(LARDER_REUSE_ALWAYS);
  const larder_reuse_totals before = totals();
  for (int i = 0; i < 20; ++i)
    on_a_thread([&] {
      thread_local larder_reuse_place place{};
      Memoized same(site, place, [](uint64_t key) { return key; });
      for (uint64_t round = 0; round < 40; ++round)
        for (uint64_t key = 0; key < 5000; ++key) same(key);
      EXPECT_GT(totals().bytes, before.bytes);
      return 0;
    });
  EXPECT_EQ(totals().bytes, before.bytes);
  EXPECT_EQ(totals().tables, before.tables);
}

TEST(ReuseTable, WorksWithoutATableInWhatRunsAfterTheThreadsTablesAreGone) {
  static const larder_reuse_site site = site_of(LARDER_REUSE_ALWAYS);
  static thread_local larder_reuse_place place{};
  static std::atomic<uint64_t> late{0};
  pthread_key_t key;
  // Calls itself back as often as the system allows, so that it outlives the library's own.
  ASSERT_EQ(pthread_key_create(&key,
                               [](void* again) {
                                 Memoized same(site, place, [](uint64_t k) { return k; });
                                 late += same(5);
                                 (void)again;
                               }),
            0);
  const larder_reuse_totals before = totals();
  on_a_thread([&] {
    Memoized same(site, place, [](uint64_t k) { return k; });
    same(5);
    pthread_setspecific(key, &place);
    return 0;
  });
  EXPECT_GE(late.load(), 5u);
  EXPECT_EQ(totals().tables, before.tables);
  pthread_key_delete(key);
}

TEST(ReuseTable, StaysUnderTheCapWithManyThreads) {
  const larder_reuse_site site = site_of(LARDER_REUSE_ALWAYS);
  std::vector<std::thread> threads;
  std::atomic<uint64_t> wrong{0};
  for (int t = 0; t < 64; ++t)
    threads.emplace_back([&] {
      thread_local larder_reuse_place place{};
      Memoized same(site, place, [](uint64_t key) { return key ^ 9; });
      for (int round = 0; round < 6; ++round)
        for (uint64_t key = 0; key < 4000; ++key) wrong += same(key) != (key ^ 9);
      wrong += totals().bytes > totals().bytes_max;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

TEST(ReuseTable, DoesWithoutMemory) {
  const Environment cap("LARDER_REUSE_BYTES_MAX", "0");
  const pid_t child = fork();
  if (child == 0) {
    // The cap is read once per process, at the first table.
    const larder_reuse_site site = site_of();
    larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    bool is_right = true;
    for (uint64_t i = 0; i < 3000; ++i) is_right = is_right && square(i % 4) == (i % 4) * (i % 4);
    _exit(is_right && !square.is_on() && square.worked == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  // Another test of this process may have read the cap before: then there is memory, and the results are
  // right.
  EXPECT_TRUE(WIFEXITED(status));
  if (totals().bytes_max == 0) {
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(ReuseTable, GoesOnInAForkedChildWhoseParentHadOtherThreads) {
  const larder_reuse_site site = site_of(LARDER_REUSE_ALWAYS);
  std::atomic<bool> is_over{false};
  std::atomic<bool> has_begun{false};
  std::thread other([&] {
    thread_local larder_reuse_place place{};
    Memoized same(site, place, [](uint64_t key) { return key; });
    for (uint64_t i = 0; !is_over; ++i) same(i % 1000), has_begun = true;
  });
  while (!has_begun) std::this_thread::yield();
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized same(site, place, [](uint64_t key) { return key; });
    for (uint64_t i = 0; i < 1000; ++i) same(i % 10);
    for (int round = 0; round < 20; ++round) {
      const pid_t child = fork();
      if (child == 0) {
        thread_local larder_reuse_place fresh{};
        Memoized more(site, fresh, [](uint64_t key) { return key + 1; });
        bool is_right = true;
        for (uint64_t i = 0; i < 1000; ++i)
          is_right = is_right && same(i % 10) == i % 10 && more(i % 7) == i % 7 + 1;
        _exit(is_right && totals().tables == 2 ? 0 : 1);
      }
      int status = -1;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status));
      EXPECT_EQ(WEXITSTATUS(status), 0);
    }
    return 0;
  });
  is_over = true;
  other.join();
}

thread_local larder_reuse_place interrupted_place{};
const larder_reuse_site kInterruptedSite = site_of(LARDER_REUSE_ALWAYS);
std::atomic<uint64_t> interruptions{0};
std::atomic<uint64_t> wrong_in_handler{0};
uint64_t mixed(uint64_t key) {
  return key * 0x9e3779b97f4a7c15 ^ 12345;
}
// std::function allocates, which a handler must not: this one is made before.
Memoized* interrupted = nullptr;

TEST(ReuseTable, IsRightInASignalHandlerThatInterruptsIt) {
  Memoized memoized(kInterruptedSite, interrupted_place, mixed);
  interrupted = &memoized;
  struct sigaction action {};
  action.sa_handler = [](int) {
    const uint64_t seed = ++interruptions;
    for (uint64_t key = 0; key < 40; ++key)
      wrong_in_handler += (*interrupted)((key + seed) % 500) != mixed((key + seed) % 500);
  };
  struct sigaction old {};
  ASSERT_EQ(sigaction(SIGVTALRM, &action, &old), 0);
  const itimerval often{{0, 200}, {0, 200}};
  ASSERT_EQ(setitimer(ITIMER_VIRTUAL, &often, nullptr), 0);
  uint64_t wrong = 0;
  for (uint64_t i = 0; interruptions < 20; ++i)
    for (uint64_t key = 0; key < 2000; ++key)
      wrong += memoized((key * 7 + i) % 500) != mixed((key * 7 + i) % 500);
  const itimerval never{};
  setitimer(ITIMER_VIRTUAL, &never, nullptr);
  sigaction(SIGVTALRM, &old, nullptr);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(wrong_in_handler.load(), 0u);
}

TEST(ReuseTable, TouchesNoPlaceOfAModuleThatWasUnloaded) {
  const larder_reuse_site site = site_of(LARDER_REUSE_ALWAYS);
  const larder_reuse_totals before = totals();
  larder_reuse_place place{};
  on_a_thread([&] {
    Memoized same(site, place, [](uint64_t key) { return key; });
    same(1);
    larder_reuse_forget(&site);
    place.countdown = 77;  // the memory belongs to somebody else now
    return 0;
  });
  EXPECT_EQ(place.countdown, 77);
  EXPECT_EQ(totals().tables, before.tables);
}

TEST(ReuseTable, LetsNoMemoizedFrameStandDeepInTheStack) {
  const larder_reuse_site site = site_of(LARDER_REUSE_TREE);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized same(site, place, [](uint64_t key) { return key; });
    same(1);
    const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    EXPECT_LT(here - place.stack_floor, place.stack_span);
    EXPECT_GE(here - 1000 - place.stack_floor, uint64_t{0});
    EXPECT_LT(here - 1000 - place.stack_floor, place.stack_span);
    pthread_attr_t attributes;
    void* low = nullptr;
    size_t size = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    // What is found without asking pthreads is what pthreads says, but for a page or two.
    const uint64_t left = here - reinterpret_cast<uint64_t>(low);
    EXPECT_NEAR(static_cast<double>(here - place.stack_floor), static_cast<double>(left) / 8, 16384.0);
    EXPECT_GE(reinterpret_cast<uint64_t>(low) + 64 - place.stack_floor, place.stack_span);
    return 0;
  });
}

TEST(ReuseTable, TakesFewFramesOfAStackThatTheProgramBroughtAlong) {
  static std::vector<char> many(8 << 20);  // the stack is somewhere in the middle of its pages
  static uint64_t below = 0;
  static const larder_reuse_site site = site_of(LARDER_REUSE_TREE);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(
      pthread_attr_setstack(
          &attributes, many.data() + (4 << 20) - reinterpret_cast<uintptr_t>(many.data()) % 4096, 2 << 20),
      0);
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, &attributes,
                [](void* of) -> void* {
                  thread_local larder_reuse_place place{};
                  Memoized same(site, place, [](uint64_t key) { return key; });
                  same(1);
                  below = reinterpret_cast<uint64_t>(__builtin_frame_address(0)) - place.stack_floor;
                  return of;
                },
                nullptr),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_LE(below, uint64_t{2 << 20} / 8);
}

TEST(ReuseTable, LeavesErrnoAsItWas) {
  const larder_reuse_site site = site_of(LARDER_REUSE_TREE);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized same(site, place, [](uint64_t key) { return key; });
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const rlimit none{0, files.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);  // the stack cannot be looked up
    errno = 0;
    same(1);
    const int after = errno;
    setrlimit(RLIMIT_NOFILE, &files);
    EXPECT_EQ(after, 0);
    return 0;
  });
}

TEST(ReuseTable, MemoizesALinearRecursionAtEveryLevelWhenEachCallGoesOneStepFurther) {
  const larder_reuse_site site = site_of(LARDER_REUSE_LINEAR);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized* self = nullptr;
    uint64_t bodies = 0;
    const std::function<uint64_t(uint64_t)> plain = [&](uint64_t n) {
      uint64_t sum = 0;
      for (uint64_t i = n; i > 0; --i) sum += slow_square(i % 10) / (i * i + 1) + i, ++bodies;
      return sum;
    };
    // What the plugin makes: within the allowed stack every level is memoized, else the body runs plain.
    Memoized sum(site, place, [&](uint64_t n) -> uint64_t {
      const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
      if (here - place.stack_floor >= place.stack_span) return plain(n);
      ++bodies;
      return n == 0 ? 0 : (*self)(n - 1) + slow_square(n % 10) / (n * n + 1) + n;
    });
    self = &sum;
    for (uint64_t n = 100; n < 600; ++n) EXPECT_GE(sum(n), n);
    EXPECT_TRUE(sum.is_on());
    EXPECT_NE(place.stack_span, 0u);
    const uint64_t before = bodies;
    for (uint64_t n = 600; n < 700; ++n) sum(n);
    EXPECT_LT(bodies - before, 1000u);
    return 0;
  });
}

// How often `strategy` computes the keys, with room for three.
uint64_t computed(const char* strategy, const std::vector<uint64_t>& keys) {
  const Environment name("LARDER_REUSE_STRATEGY", strategy);
  const Environment capacity("LARDER_REUSE_CAPACITY", "3");
  const larder_reuse_site site = site_of();
  return on_a_thread([&] {
    thread_local larder_reuse_place place;
    place = {};
    Memoized same(site, place, [](uint64_t key) { return key + 100; });
    for (const uint64_t key : keys) EXPECT_EQ(same(key), key + 100);
    return same.worked;
  });
}

TEST(ReuseStrategy, RoundRobinReplacesInTurnWhateverWasUsed) {
  EXPECT_EQ(computed("round_robin", {1, 2, 3, 1, 1, 4, 1}), 5u);
  EXPECT_EQ(computed("round_robin", {1, 2, 3, 4, 2, 3}), 4u);
}

TEST(ReuseStrategy, LruVectorReplacesWhatWasUsedLongestAgo) {
  EXPECT_EQ(computed("lru_vector", {1, 2, 3, 1, 1, 4, 1}), 4u);
  EXPECT_EQ(computed("lru_vector", {1, 2, 3, 1, 4, 2}), 5u);
}

TEST(ReuseStrategy, LruHashReplacesWhatWasUsedLongestAgo) {
  EXPECT_EQ(computed("lru_hash", {1, 2, 3, 1, 1, 4, 1}), 4u);
  EXPECT_EQ(computed("lru_hash", {1, 2, 3, 1, 4, 2}), 5u);
}

TEST(ReuseStrategy, MakeDoWithWhatFitsTheCapOfACapacityThatDoesNot) {
  for (const char* const capacity : {"461168601842738791", "18446744073709551615", "1000000000"}) {
    const Environment most("LARDER_REUSE_CAPACITY", capacity);
    for (const char* const strategy : {"round_robin", "lru_vector", "lru_hash"}) {
      const Environment name("LARDER_REUSE_STRATEGY", strategy);
      const larder_reuse_site site = site_of();
      on_a_thread([&] {
        thread_local larder_reuse_place place;
        place = {};
        Memoized same(site, place, [](uint64_t key) { return key + 100; });
        for (uint64_t i = 0; i < 3000; ++i) EXPECT_EQ(same(i % 1500), i % 1500 + 100);
        EXPECT_EQ(same.worked, 1500u);
        EXPECT_LE(totals().bytes, totals().bytes_max);
        return 0;
      });
    }
  }
}

TEST(ReuseStrategy, GiveTheMemoryBackWithTheThread) {
  const larder_reuse_totals before = totals();
  computed("lru_hash", {1, 2, 3});
  computed("round_robin", {1, 2, 3});
  EXPECT_EQ(totals().bytes, before.bytes);
}

TEST(ReuseProfile, CountsCallsAndDistinctKeysOfAllThreads) {
  const std::string path = testing::TempDir() + "reuse.profile." + std::to_string(getpid());
  const Environment name("LARDER_REUSE_PROFILE", path.c_str());
  const larder_reuse_site site = site_of(LARDER_REUSE_PROFILE);
  for (int t = 0; t < 2; ++t)
    on_a_thread([&] {
      thread_local larder_reuse_place place{};
      Memoized square(site, place, slow_square);
      for (uint64_t i = 0; i < 5000; ++i) EXPECT_EQ(square(i % 1000), (i % 1000) * (i % 1000));
      EXPECT_EQ(square.worked, 5000u);
      return 0;
    });
  larder_reuse_forget(&site);
  std::ifstream file(path);
  std::string version, function;
  uint64_t fingerprint = 0, calls = 0, keys = 0, direct = 0, turn = 0, lru = 0, timed = 0, nanoseconds = 0;
  file >> version >> function >> fingerprint >> calls >> keys >> direct >> turn >> lru >> timed >>
      nanoseconds;
  EXPECT_EQ(version, "reuse1");
  EXPECT_EQ(function, "function");
  EXPECT_EQ(fingerprint, 7u);
  EXPECT_EQ(calls, 10000u);
  EXPECT_NEAR(static_cast<double>(keys), 1000, 100);
  EXPECT_EQ(timed, 10000u);
  EXPECT_GT(nanoseconds, 0u);
  EXPECT_EQ(lru, 0u);  // a cycle of 1000 keys defeats 256 entries
  unlink(path.c_str());
}

std::string lines_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  unlink(path.c_str());
  return text.str();
}

// Of one function, its fingerprint and number of calls.
std::vector<uint64_t> calls_in(const std::string& lines) {
  std::vector<uint64_t> result;
  std::istringstream text(lines);
  for (std::string line; std::getline(text, line);) {
    std::istringstream words(line);
    std::string word;
    uint64_t print = 0, calls = 0;
    words >> word >> word >> print >> calls;
    result.push_back(calls);
  }
  return result;
}

TEST(ReuseProfile, LeavesItToTheParentWhatWasCountedBeforeAFork) {
  const std::string path = testing::TempDir() + "reuse.forked." + std::to_string(getpid());
  const Environment name("LARDER_REUSE_PROFILE", path.c_str());
  const larder_reuse_site site = site_of(LARDER_REUSE_PROFILE);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    for (uint64_t i = 0; i < 1000; ++i) square(i % 7);
    const pid_t child = fork();
    if (child == 0) {
      for (uint64_t i = 0; i < 10; ++i) square(i % 7);
      larder_reuse_forget(&site);
      _exit(0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    larder_reuse_forget(&site);
    return 0;
  });
  EXPECT_EQ(calls_in(lines_of(path)), (std::vector<uint64_t>{10, 1000}));
}

TEST(ReuseProfile, BeginsAnewForAModuleThatIsLoadedWhereOneWas) {
  const std::string path = testing::TempDir() + "reuse.loaded." + std::to_string(getpid());
  const Environment name("LARDER_REUSE_PROFILE", path.c_str());
  const larder_reuse_site site = site_of(LARDER_REUSE_PROFILE);
  for (uint64_t load = 1; load < 3; ++load)
    on_a_thread([&] {
      thread_local larder_reuse_place place;
      place = {};
      Memoized square(site, place, slow_square);
      for (uint64_t i = 0; i < 100 * load; ++i) square(i % 50);
      larder_reuse_forget(&site);
      const uint64_t calls = square.worked;
      EXPECT_EQ(square(3), 9u);  // what comes after is not counted
      EXPECT_EQ(square.worked, calls);
      return 0;
    });
  const std::string lines = lines_of(path);
  EXPECT_EQ(calls_in(lines), (std::vector<uint64_t>{100, 200}));
  std::istringstream second(lines.substr(lines.find('\n') + 1));
  std::string word;
  uint64_t print = 0, calls = 0, keys = 0, direct = 0, turn = 0, lru = 0, timed = 0;
  second >> word >> word >> print >> calls >> keys >> direct >> turn >> lru >> timed;
  EXPECT_EQ(timed, 200u);
}

TEST(ReuseProfile, CountsOnWhereAnotherThreadHasWrittenIt) {
  const Environment name("LARDER_REUSE_PROFILE", "/dev/null");
  const larder_reuse_site site = site_of(LARDER_REUSE_PROFILE);
  on_a_thread([&] {
    thread_local larder_reuse_place place{};
    Memoized square(site, place, slow_square);
    EXPECT_EQ(square(3), 9u);
    std::thread([&] { larder_reuse_forget(&site); }).join();
    for (uint64_t i = 0; i < 100; ++i) EXPECT_EQ(square(i), i * i);
    return 0;
  });
}

}  // namespace
