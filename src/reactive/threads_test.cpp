// Many threads in one graph: what they read belongs to one revision, each function runs once for all of them,
// and who sets does not wait for what it supersedes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <thread>

#include "larder/graph.hpp"

namespace larder {
namespace {

TEST(GraphThreads, MakesOnceWhatManyThreadsAskFor) {  // 15
  Graph graph;
  std::atomic<int> runs{0};
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c, int n) {
    ++runs;
    return c.get(in, 0) + n;
  });
  graph.set(in, 0, 1).value();
  constexpr int kThreads = 8;
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      for (int n = 0; n < 200; ++n) EXPECT_EQ(graph.get(f, n).value(), n + 1);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(runs.load(), 200);
}

TEST(GraphThreads, ShowEveryFunctionOneRevision) {  // 19, 32
  Graph graph;
  auto in = graph.input<int, std::uint64_t>("in");
  std::atomic<int> torn{0};
  std::atomic<bool> is_over{false};
  auto part = graph.function("part", [&](Context& c, int n) { return c.get(in, n); });
  auto whole = graph.function("whole", [&](Context& c) {
    const std::uint64_t a = c.get(in, 1);
    const std::uint64_t b = c.get(part, 2);
    std::this_thread::yield();
    const std::uint64_t d = c.get(in, 3);
    if (a != b || b != d) ++torn;
    return a;
  });
  graph.batch().set(in, 1, 0).set(in, 2, 0).set(in, 3, 0).commit().value();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      std::uint64_t last = 0;
      while (!is_over.load()) {
        const std::uint64_t now = graph.get(whole).value();
        EXPECT_GE(now, last) << "time went back";
        last = now;
        EXPECT_GE(graph.get(part, 3).value(), last) << "a later read of an earlier revision";
      }
    });
  for (std::uint64_t i = 1; i <= 2000; ++i)
    graph.batch().set(in, 1, i).set(in, 2, i).set(in, 3, i).commit().value();
  EXPECT_EQ(graph.get(whole).value(), 2000u);
  is_over = true;
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(torn.load(), 0);
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphThreads, GiveUpWhatANewerRevisionSupersedes) {  // 19
  Graph graph;
  auto in = graph.input<int, int>("in");
  std::latch is_running(1);
  std::atomic<int> starts{0};
  std::atomic<bool> was_superseded{false};
  auto slow = graph.function("slow", [&](Context& c) {
    const int value = c.get(in, 1);
    if (++starts == 1) {
      is_running.count_down();
      while (!c.is_superseded()) std::this_thread::yield();  // ends only because of the set below
      was_superseded = true;
    }
    return value * 10 + c.get(in, 2);
  });
  graph.batch().set(in, 1, 1).set(in, 2, 1).commit().value();
  Result<int> value = 0;
  std::thread reader([&] { value = graph.get(slow); });
  is_running.wait();
  graph.batch().set(in, 1, 2).set(in, 2, 2).commit().value();
  reader.join();
  EXPECT_TRUE(was_superseded);
  EXPECT_EQ(value.value(), 22);
  EXPECT_EQ(starts.load(), 2);
  EXPECT_EQ(graph.stats().evaluations, 1u) << "the first never came to an end";
}

TEST(GraphThreads, NeverAnnounceASupersededRevision) {  // 21
  Graph graph;
  auto in = graph.input<int, int>("in");
  std::latch is_running(1);
  std::atomic<bool> blocks{false};
  auto slow = graph.function("slow", [&](Context& c) {
    const int value = c.get(in, 1);
    if (blocks.exchange(false)) {
      is_running.count_down();
      while (!c.is_superseded()) std::this_thread::yield();
      c.get(in, 1);
    }
    return value;
  });
  graph.set(in, 1, 1).value();
  std::vector<int> told;
  auto subscription =
      graph.subscribe(slow, {}, [&](const Result<int>& v, Revision) { told.push_back(*v); }).value();
  blocks = true;
  std::thread first([&] { EXPECT_EQ(graph.set(in, 1, 2).value(), 2u); });
  is_running.wait();
  EXPECT_EQ(graph.set(in, 1, 3).value(), 3u);
  first.join();
  EXPECT_THAT(told, ::testing::ElementsAre(3));
}

TEST(GraphThreads, UnsubscribeWaitsForACallThatIsAtWork) {
  Graph graph;
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c) { return c.get(in, 1); });
  graph.set(in, 1, 0).value();
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> is_alive{true};
    std::atomic<int> after{0};
    auto subscription = std::make_unique<GraphSubscription>(graph
                                                                .subscribe(f, {},
                                                                           [&](const Result<int>&, Revision) {
                                                                             std::this_thread::yield();
                                                                             if (!is_alive) ++after;
                                                                           })
                                                                .value());
    std::thread setter([&] {
      for (int i = 1; i < 20; ++i) graph.set(in, 1, round * 100 + i).value();
    });
    subscription.reset();
    is_alive = false;
    setter.join();
    EXPECT_EQ(after.load(), 0);
  }
}

TEST(GraphThreads, TwoThreadsThatEnterACycleFromBothEndsBothReturn) {  // 14
  Graph graph;
  std::optional<Function<int, int>> self;
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c, int n) -> int { return c.get(in, 0) + c.get(*self, 1 - n); });
  self = f;
  for (int round = 0; round < 50; ++round) {
    graph.set(in, 0, round).value();
    std::latch start(2);
    std::vector<std::thread> threads;
    for (int n : {0, 1})
      threads.emplace_back([&, n] {
        start.arrive_and_wait();
        const auto value = graph.get(f, n);
        ASSERT_FALSE(value);
        EXPECT_EQ(value.error().code, Code::would_deadlock);
      });
    for (auto& thread : threads) thread.join();
  }
  EXPECT_EQ(graph.check(), "");
}

}  // namespace
}  // namespace larder
