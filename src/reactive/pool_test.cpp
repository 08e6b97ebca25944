// Functions that run at the same time: one evaluation per key, pushes by level, cycles over several threads,
// and work that is given up when nobody asks for it any more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <latch>
#include <optional>
#include <stop_token>
#include <thread>

#include "larder/graph.hpp"

namespace larder {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::IsEmpty;

TEST(GraphPool, RunsALevelOfAPushOnSeveralThreads) {
  Graph graph({.threads = 3});
  auto in = graph.input<NoKey, int>("in");
  std::barrier meeting(3);
  std::atomic<bool> meets{false};
  auto side = graph.function("side", [&](Context& c, int n) {
    const int value = c.get(in);
    if (meets) meeting.arrive_and_wait();  // comes back only if three run at once
    return value + n;
  });
  auto sum =
      graph.function("sum", [&](Context& c) { return c.get(side, 1) + c.get(side, 2) + c.get(side, 3); });
  graph.set(in, {}, 1).value();
  auto want = graph.want(sum, {}).value();
  meets = true;
  graph.set(in, {}, 10).value();
  EXPECT_EQ(graph.get(sum).value(), 36);
  EXPECT_EQ(graph.stats().evaluations, 8u) << "each once, the sum after all three";
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphPool, MakesAtOnceWhatIsAskedForTogether) {
  Graph graph({.threads = 2});
  std::barrier meeting(2);
  auto part = graph.function("part", [&](Context&, int n) {
    meeting.arrive_and_wait();
    return n * n;
  });
  auto all = graph.function("all", [&](Context& c) {
    int sum = 0;
    for (const int each : c.get_all(part, {1, 2, 3, 4})) sum += each;
    return sum;
  });
  EXPECT_EQ(graph.get(all).value(), 30);
  EXPECT_EQ(graph.stats().evaluations, 5u);
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphPool, GetAllIsTheFirstErrorAndWorksOnOneThread) {
  for (const unsigned threads : {1u, 3u}) {
    Graph graph({.threads = threads});
    auto in = graph.input<int, int>("in");
    auto all = graph.function("all", [&](Context& c) { return c.get_all(in, {1, 2, 3}); });
    graph.batch().set(in, 1, 10).commit().value();
    EXPECT_EQ(graph.get(all).error().what, "in(2): was never set");
    graph.batch().set(in, 2, 20).set(in, 3, 30).commit().value();
    EXPECT_EQ(graph.get(all).value(), (std::vector<int>{10, 20, 30}));
  }
}

TEST(GraphPool, MakesEachKeyOnceHoweverManyThreadsAskAndHelp) {  // 15
  Graph graph({.lines_max = 0, .threads = 4});
  constexpr int kNodes = 300;
  std::vector<std::atomic<int>> runs(kNodes);
  std::optional<Function<int, std::uint64_t>> self;
  auto in = graph.input<NoKey, std::uint64_t>("in");
  auto f = graph.function("f", [&](Context& c, int n) -> std::uint64_t {
    ++runs[static_cast<std::size_t>(n)];
    std::uint64_t sum = c.get(in) + static_cast<std::uint64_t>(n);
    if (n > 2)
      for (const std::uint64_t each : c.get_all(*self, {n - 1, n - 2, n / 2})) sum = sum * 31 + each;
    return sum;
  });
  self = f;
  graph.set(in, {}, 1).value();
  std::latch start(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      for (int n = t; n < kNodes; ++n) graph.get(f, n).value();
    });
  for (auto& thread : threads) thread.join();
  const auto restarts = graph.stats().restarts;
  int total = 0;
  for (const auto& each : runs) total += each;
  EXPECT_EQ(graph.stats().evaluations, static_cast<std::uint64_t>(kNodes));
  EXPECT_EQ(static_cast<std::uint64_t>(total), kNodes + restarts);
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphPool, ACycleOverTwoThreadsIsNamedWhole) {  // 14
  for (int round = 0; round < 20; ++round) {
    Graph graph({.threads = 2});
    std::optional<Function<int, int>> self;
    std::latch both_hold_theirs(2);
    std::atomic<int> starts{0};
    auto f = graph.function("f", [&](Context& c, int n) -> int {
      if (++starts <= 2) both_hold_theirs.arrive_and_wait();
      return c.get(*self, 1 - n);
    });
    self = f;
    std::vector<std::string> errors(2);
    std::vector<std::thread> threads;
    for (int n : {0, 1})
      threads.emplace_back([&, n] { errors[static_cast<std::size_t>(n)] = graph.get(f, n).error().what; });
    for (auto& thread : threads) thread.join();
    EXPECT_THAT(errors, Each(AnyOf("cycle: f(0) -> f(1) -> f(0)", "cycle: f(1) -> f(0) -> f(1)")));
    EXPECT_EQ(errors[0], errors[1]) << "whoever came second got the result of the first";
    EXPECT_EQ(graph.check(), "");
  }
}

TEST(GraphPool, CommitsReadersAndSubscribersAllAtOnce) {
  Graph graph({.lines_max = 8, .threads = 3});
  auto in = graph.input<int, std::uint64_t>("in");
  auto part = graph.function("part", [&](Context& c, int n) { return std::to_string(c.get(in, n % 2)); });
  auto whole = graph.function("whole", [&](Context& c) {
    const auto parts = c.get_all(part, {0, 1, 2, 3, 4, 5});
    for (const auto& each : parts) EXPECT_EQ(each, parts[0]);
    return parts[0];
  });
  graph.batch().set(in, 0, 0).set(in, 1, 0).commit().value();
  std::uint64_t heard = 0;
  auto subscription = graph
                          .subscribe(whole, {},
                                     [&](const Result<std::string>& value, Revision) {
                                       const std::uint64_t now = std::stoull(*value);
                                       EXPECT_GT(now, heard);
                                       heard = now;
                                     })
                          .value();
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      std::uint64_t last = 0;
      while (!is_over) {
        const std::uint64_t now = std::stoull(graph.get(whole).value());
        EXPECT_GE(now, last);
        last = now;
        auto want = graph.want(part, 7).value();
      }
    });
  for (std::uint64_t i = 1; i <= 500; ++i) graph.batch().set(in, 0, i).set(in, 1, i).commit().value();
  is_over = true;
  for (auto& thread : threads) thread.join();
  subscription = {};
  EXPECT_EQ(heard, 500u);
  EXPECT_EQ(graph.check(), "");
}

class GraphDrop : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(, GraphDrop, ::testing::Values(1u, 3u));

TEST_P(GraphDrop, OfTheLastWantEndsTheWorkThatAPushDoesForIt) {  // 20
  Graph graph({.threads = GetParam()});
  auto in = graph.input<NoKey, int>("in");
  std::atomic<bool> waits{false};
  std::atomic<bool> was_cancelled{false};
  std::latch is_running(1);
  auto slow = graph.function("slow", [&](Context& c) {
    const int value = c.get(in);
    if (waits.exchange(false)) {
      is_running.count_down();
      while (!c.is_superseded()) std::this_thread::yield();  // ends only because the want is dropped
      was_cancelled = true;
    }
    return value + c.get(in);
  });
  auto above = graph.function("above", [&](Context& c) { return c.get(slow); });
  graph.set(in, {}, 1).value();
  auto want = std::make_unique<Want>(graph.want(above, {}).value());
  waits = true;
  const auto before = graph.stats().evaluations;
  std::thread pusher([&] { graph.set(in, {}, 2).value(); });
  is_running.wait();
  want.reset();
  pusher.join();
  EXPECT_TRUE(was_cancelled);
  EXPECT_EQ(graph.stats().evaluations, before) << "nobody wants it: nothing ran to its end";
  EXPECT_EQ(graph.check(), "");
  EXPECT_EQ(graph.get(above).value(), 4);
  EXPECT_EQ(graph.check(), "");
}

TEST_P(GraphDrop, OfOneOfTwoWantsEndsNothing) {  // 20
  Graph graph({.threads = GetParam()});
  auto in = graph.input<NoKey, int>("in");
  std::atomic<bool> waits{false};
  std::atomic<bool> is_dropped{false};
  std::latch is_running(1);
  std::atomic<int> starts{0};
  auto slow = graph.function("slow", [&](Context& c) {
    const int value = c.get(in);
    ++starts;
    if (waits.exchange(false)) {
      is_running.count_down();
      while (!is_dropped) EXPECT_FALSE(c.is_superseded());
      EXPECT_FALSE(c.is_superseded());
    }
    return value;
  });
  auto above = graph.function("above", [&](Context& c, int n) { return c.get(slow) + n; });
  graph.set(in, {}, 1).value();
  auto first = std::make_unique<Want>(graph.want(above, 1).value());
  auto second = graph.want(above, 2).value();
  waits = true;
  starts = 0;
  std::thread pusher([&] { graph.set(in, {}, 2).value(); });
  is_running.wait();
  first.reset();
  is_dropped = true;
  pusher.join();
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(graph.get(above, 2).value(), 4);
  EXPECT_EQ(graph.check(), "");
}

TEST_P(GraphDrop, OfWhoAsksWithAStopTokenEndsItsWork) {  // 20
  Graph graph({.threads = GetParam()});
  auto in = graph.input<NoKey, int>("in");
  std::atomic<bool> waits{true};
  std::latch is_running(1);
  auto slow = graph.function("slow", [&](Context& c) {
    if (waits.exchange(false)) {
      is_running.count_down();
      while (!c.is_superseded()) std::this_thread::yield();
    }
    return c.get(in);
  });
  graph.set(in, {}, 1).value();
  std::stop_source source;
  std::thread stopper([&] {
    is_running.wait();
    source.request_stop();
  });
  const auto value = graph.get(slow, {}, source.get_token());
  stopper.join();
  EXPECT_EQ(value.error().code, Code::transient);
  EXPECT_EQ(graph.stats().evaluations, 0u);
  EXPECT_EQ(graph.get(slow, {}, source.get_token()).error().code, Code::transient)
      << "stopped before it began";
  EXPECT_EQ(graph.get(slow, {}, std::stop_token()).value(), 1);
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphDropped, LetsRunWhatAnotherThreadWaitsFor) {  // 20
  Graph graph({.threads = 2});
  auto in = graph.input<NoKey, int>("in");
  std::latch is_running(1);
  std::atomic<bool> is_stopped{false};
  std::atomic<int> starts{0};
  auto slow = graph.function("slow", [&](Context& c) {
    ++starts;
    is_running.count_down();
    while (!is_stopped) std::this_thread::yield();
    EXPECT_FALSE(c.is_superseded()) << "another thread waits for it";
    return c.get(in);
  });
  std::atomic<bool> went_on{false};
  auto above = graph.function("above", [&](Context& c) {
    const int value = c.get(slow);
    c.get(in);
    went_on = true;
    return value;
  });
  graph.set(in, {}, 7).value();
  std::stop_source source;
  std::thread first([&] { EXPECT_FALSE(graph.get(above, {}, source.get_token())); });
  is_running.wait();
  std::thread second([&] { EXPECT_EQ(graph.get(slow).value(), 7); });
  while (graph.stats().joined == 0) std::this_thread::yield();
  source.request_stop();
  is_stopped = true;
  first.join();
  second.join();
  EXPECT_EQ(starts, 1);
  EXPECT_FALSE(went_on) << "what only the first asked for was given up";
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphDropped, OfAWantInsideOfAFunctionIsSafe) {
  for (const unsigned threads : {1u, 2u}) {
    Graph graph({.threads = threads});
    auto in = graph.input<NoKey, int>("in");
    Want want;
    auto low = graph.function("low", [&](Context& c) { return c.get(in); });
    auto f = graph.function("f", [&](Context& c) {
      want = Want();
      return c.get(low);
    });
    graph.set(in, {}, 1).value();
    want = graph.want(low, {}).value();
    EXPECT_EQ(graph.get(f).value(), 1);
    EXPECT_EQ(graph.check(), "");
  }
}

}  // namespace
}  // namespace larder
