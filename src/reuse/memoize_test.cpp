#include "larder/memoize.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <latch>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace larder {
namespace {

std::atomic<int> calls{0};
int counted_sum(int a, int b) {
  ++calls;
  return a + b;
}

TEST(Memoize, ComputesEachResultOnceOfAFunctionOrAnObject) {
  calls = 0;
  auto sum = memoize(counted_sum);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sum(i % 5, 1), i % 5 + 1);
  EXPECT_EQ(calls, 5);

  int lengths = 0;
  auto length = memoize([&lengths](const std::string& text) {
    ++lengths;
    return text.size();
  });
  EXPECT_EQ(length("abc"), 3u);
  EXPECT_EQ(length("abc"), 3u);
  EXPECT_EQ(length("abcd"), 4u);
  EXPECT_EQ(lengths, 2);
}

TEST(Memoize, RecursesThroughTheMemo) {
  int worked = 0;
  auto fibonacci = memoize<std::uint64_t(int)>([&worked](auto& self, int n) -> std::uint64_t {
    ++worked;
    return n < 2 ? static_cast<std::uint64_t>(n) : self(n - 1) + self(n - 2);
  });
  EXPECT_EQ(fibonacci(90), 2880067194370816120u);
  EXPECT_EQ(worked, 91);
}

TEST(Memoize, KeepsItsResultsWhileItGrowsWithinARecursion) {
  int worked = 0;
  auto deep = memoize<long(int)>([&worked](auto& self, int n) -> long {
    ++worked;
    return n == 0 ? 0 : self(n - 1) + n;
  });
#if defined(__SANITIZE_ADDRESS__)
  constexpr int kDepth = 1000;  // AddressSanitizer's frames are large
#else
  constexpr int kDepth = 5000;
#endif
  EXPECT_EQ(deep(kDepth), kDepth * (kDepth + 1L) / 2);
  EXPECT_EQ(deep(kDepth), kDepth * (kDepth + 1L) / 2);
  EXPECT_LE(worked, kDepth + 100);  // growing may leave a few behind
}

TEST(Memoize, TellsZeroesApartAndFindsANanAgain) {
  int worked = 0;
  auto inverse = memoize([&worked](double x) {
    ++worked;
    return 1 / x;
  });
  EXPECT_EQ(inverse(0.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(inverse(-0.0), -std::numeric_limits<double>::infinity());
  const double nan = std::numeric_limits<double>::quiet_NaN();
  inverse(nan);
  inverse(nan);
  EXPECT_EQ(worked, 3);
}

TEST(Memoize, TellsZeroesOfLongDoublesApartToo) {
  int worked = 0;
  auto inverse = memoize([&worked](long double x) {
    ++worked;
    return 1 / x;
  });
  const long double infinity = std::numeric_limits<long double>::infinity();
  const long double nan = std::numeric_limits<long double>::quiet_NaN();
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(inverse(0.0L), infinity);
    EXPECT_EQ(inverse(-0.0L), -infinity);
    EXPECT_NE(inverse(nan), 0.0L);
    EXPECT_EQ(inverse(1.0L + std::numeric_limits<long double>::epsilon()),
              1 / (1.0L + std::numeric_limits<long double>::epsilon()));
  }
  EXPECT_EQ(worked, 4);
}

TEST(Memoize, KeepsNothingOfACallThatThrows) {
  int worked = 0;
  auto picky = memoize([&worked](int n) {
    if (++worked == 1) throw std::runtime_error("not now");
    return n;
  });
  EXPECT_THROW(picky(1), std::runtime_error);
  EXPECT_EQ(picky(1), 1);
  EXPECT_EQ(picky(1), 1);
  EXPECT_EQ(worked, 2);
}

TEST(Memoize, IsBounded) {
  auto same = memoize([](int n) { return std::to_string(n); }, {.entries_max = 256});
  for (int i = 0; i < 100000; ++i) EXPECT_EQ(same(i), std::to_string(i));
  EXPECT_LE(same.stats().entries, 260u);
  EXPECT_GE(same.stats().entries, 200u);
}

TEST(Memoize, CountsHitsAndMisses) {
  auto same = memoize([](int n) { return n; });
  for (int i = 0; i < 10; ++i) same(i % 3);
  EXPECT_EQ(same.stats().hits, 7u);
  EXPECT_EQ(same.stats().misses, 3u);
  EXPECT_EQ(same.stats().entries, 3u);
  EXPECT_EQ(same.stats().threads, 1u);
  same.clear();
  same(1);
  EXPECT_EQ(same.stats().misses, 4u);
}

TEST(Memoize, GivesEachThreadATableAndTakesItAwayWithTheThread) {
  std::atomic<int> worked{0};
  auto same = memoize([&worked](int n) {
    ++worked;
    return n;
  });
  same(1);
  for (int t = 0; t < 3; ++t)
    std::thread([&] {
      same(1);
      same(1);
      EXPECT_EQ(same.stats().threads, 2u);
    }).join();
  EXPECT_EQ(worked, 4);
  EXPECT_EQ(same.stats().threads, 1u);
  EXPECT_EQ(same.stats().hits, 3u);
}

TEST(Memoize, MayEndBeforeTheThreadsThatUsedItAndLeavesTheNextOneNothing) {
  std::latch used(1);
  std::latch gone(1);
  auto first = std::make_unique<Memo<int(int), int (*)(int)>>(
      +[](int n) { return n; }, MemoOptions{});
  std::thread other([&] {
    (*first)(1);
    used.count_down();
    gone.wait();
    // Has the number that the first one had.
    auto second = memoize([](int n) { return n + 1; });
    EXPECT_EQ(second(1), 2);
  });
  used.wait();
  first.reset();
  gone.count_down();
  other.join();
}

struct CallsLate {
  std::function<void()> call;
  ~CallsLate() {
    if (call) call();
  }
};

TEST(Memoize, WorksWithoutATableInAThreadThatEnds) {
  auto same = memoize([](int n) { return n * 2; });
  int late = 0;
  std::thread([&] {
    static thread_local CallsLate last;
    last.call = [&] { late = same(4); };
    same(4);
  }).join();
  EXPECT_EQ(late, 8);
}

TEST(Memoize, SharedComputesOnceForThreadsThatAskAtOnceAndHoldsNoLockMeanwhile) {
  std::atomic<int> worked{0};
  std::latch all(8);
  auto slow = memoize(
      [&](int n) {
        ++worked;
        if (n == 1) all.wait();  // others must get through meanwhile
        return n;
      },
      {.is_shared = true});
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      EXPECT_EQ(slow(2), 2);
      all.count_down();
      EXPECT_EQ(slow(1), 1);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(worked, 2);
  EXPECT_EQ(slow.stats().misses, 2u);
  EXPECT_EQ(slow.stats().entries, 2u);
}

TEST(Memoize, SharedRecursesThroughTheMemo) {
  std::atomic<int> worked{0};
  auto fibonacci = memoize<std::uint64_t(int)>(
      [&worked](auto& self, int n) -> std::uint64_t {
        ++worked;
        return n < 2 ? static_cast<std::uint64_t>(n) : self(n - 1) + self(n - 2);
      },
      {.is_shared = true});
  EXPECT_EQ(fibonacci(50), 12586269025u);
  EXPECT_EQ(worked, 51);
}

TEST(Memoize, SharedIsBounded) {
  auto same = memoize([](int n) { return n; }, {.entries_max = 100, .is_shared = true});
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(same(i), i);
  EXPECT_LE(same.stats().entries, 100u);
}

class KeptMemo : public testing::Test {
 protected:
  KeptMemo() : dir_(std::filesystem::temp_directory_path() / ("larder-memo-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(dir_);
  }
  ~KeptMemo() override { std::filesystem::remove_all(dir_); }

  // In a process of its own: how often the function worked, or 100 for a wrong result.
  int worked_in_a_process(const std::string& version, int factor) {
    const pid_t child = fork();
    if (child == 0) {
      int worked = 0;
      bool is_right = true;
      {
        Options options;
        options.dir = dir_.string();
        Cache cache = Cache::open(options);
        auto times = memoize(
            [&](int n, const std::string& text) {
              ++worked;
              return text + std::to_string(n * factor);
            },
            {.cache = &cache, .name = "times", .version = version});
        for (int i = 0; i < 20; ++i)
          is_right = is_right && times(i % 10, "x") == "x" + std::to_string(i % 10 * factor);
        cache.flush(std::chrono::seconds(20));
      }
      _exit(is_right ? worked : 100);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::filesystem::path dir_;
};

TEST_F(KeptMemo, StartsWarmInASecondProcess) {
  EXPECT_EQ(worked_in_a_process("1", 3), 10);
  EXPECT_EQ(worked_in_a_process("1", 3), 0);
}

TEST_F(KeptMemo, NeverServesAnotherVersionsValues) {
  EXPECT_EQ(worked_in_a_process("1", 3), 10);
  EXPECT_EQ(worked_in_a_process("2", 4), 10);
}

TEST_F(KeptMemo, TakesDamagedFilesForMisses) {
  EXPECT_EQ(worked_in_a_process("1", 3), 10);
  int damaged = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(dir_)) {
    if (!file.is_regular_file() || file.file_size() < 40) continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    for (std::uintmax_t at = 16; at < file.file_size(); at += 3)
      bytes.seekp(static_cast<std::streamoff>(at)).put('?');
    ++damaged;
  }
  EXPECT_GE(damaged, 10);
  EXPECT_EQ(worked_in_a_process("1", 3), 10);
}

TEST_F(KeptMemo, RefusesToBeKeptWithoutAName) {
  Cache cache = Cache::open();
  EXPECT_THROW(memoize([](int n) { return n; }, {.cache = &cache}), std::invalid_argument);
}

TEST(Memoize, GoesOnInAForkedChild) {
  auto same = memoize([](int n) { return n; });
  same(1);
  const pid_t child = fork();
  if (child == 0) {
    std::thread([&] { same(2); }).join();
    _exit(same(1) == 1 && same.stats().hits == 1 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace larder
