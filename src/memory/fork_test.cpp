// A child forked at any moment can use the tiers of its parent.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <thread>

#include "larder/memory.hpp"
#include "memory/testing.hpp"

namespace larder {
namespace {

using testing::named;

using namespace std::chrono_literals;

// Runs `body` in a forked child; true when it returned true within ten seconds.
template <typename Body>
bool in_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(Fork, TheChildTakesOverWhatAVanishedThreadWasMaking) {
  MemoryTier<std::string> tier;
  std::latch begun{1};
  std::latch forked{1};
  std::thread maker([&] {
    static_cast<void>(tier.get_or_make(named("a"), [&] {
      begun.count_down();
      forked.wait();
      return "parent's";
    }));
  });
  begun.wait();
  EXPECT_TRUE(in_child([&] {
    const auto held = tier.get_or_make(named("a"), [] { return "child's"; });
    return held && **held == "child's" && *tier.get(named("a")) == "child's" && tier.stats().making == 0;
  }));
  forked.count_down();
  maker.join();
  EXPECT_EQ(*tier.get(named("a")), "parent's");
}

TEST(Fork, TheChildFreesWhatReadersOfTheParentHadPinned) {
  MemoryTier<int> tier;
  const auto recipe = tier.intern(named("a"));
  static_cast<void>(tier.get_or_make(recipe, [] { return 1; }));
  std::latch pinned{1};
  std::latch forked{1};
  std::thread reader([&] {
    Guard guard(tier);
    EXPECT_NE(guard.get(recipe), nullptr);
    pinned.count_down();
    forked.wait();
  });
  pinned.wait();
  EXPECT_TRUE(in_child([&] {
    tier.clear();
    return tier.stats().unreclaimed == 0;
  }));
  tier.clear();
  EXPECT_EQ(tier.stats().unreclaimed, 1u);
  forked.count_down();
  reader.join();
}

TEST(Fork, AMakerMayFork) {
  MemoryTier<int> tier;
  const auto held = tier.get_or_make(named("a"), [&] {
    EXPECT_TRUE(in_child([&] { return tier.get_or_make(named("b"), [] { return 2; }).has_value(); }));
    return 1;
  });
  EXPECT_EQ(**held, 1);
}

TEST(Fork, EveryChildOfABusyProcessCanMakeAndHit) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "GCC 12's AddressSanitizer may lock its allocator for ever in a busy process's child";
#endif
  MemoryTier<int> tier({.count_max = 8});
  std::atomic<bool> stop{false};
  const auto work = [&](int first) {
    for (int i = first; !stop; ++i) {
      static_cast<void>(tier.get_or_make(named(std::to_string(i % 20)), [&] { return i; }));
      Guard guard(tier);
      static_cast<void>(guard.get(named(std::to_string(i % 7))));
    }
  };
  std::thread one(work, 0);
  std::thread two(work, 10);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(in_child([&] {
      for (int key = 0; key < 20; ++key) {
        if (!tier.get_or_make(named(std::to_string(key)), [] { return 1; })) return false;
      }
      tier.clear();
      return tier.stats().count == 0;
    }));
  }
  stop = true;
  one.join();
  two.join();
}

}  // namespace
}  // namespace larder
