// Cycles with a value to start from: fixpoints, fallbacks, limits. Scenario 13.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <thread>

#include "larder/graph.hpp"

namespace larder {
namespace {

using ::testing::HasSubstr;

// Which nodes each node reaches: the classic fixpoint, as sets of bits.
struct Reach {
  explicit Reach(GraphOptions options = {}) : graph(std::move(options)) {
    edges = graph.input<int, std::uint64_t>("edges");
    reach = graph.cyclic("reach", std::uint64_t{0}, [this](Context& c, int n) {
      ++runs;
      const std::uint64_t out = c.get(*edges, n);
      std::uint64_t all = out;
      for (int to = 0; to < 64; ++to)
        if ((out >> to & 1) != 0) all |= c.get(*reach, to);
      return all;
    });
  }
  void set(int n, std::uint64_t out) {
    table[n] = out;
    graph.set(*edges, n, out).value();
  }
  std::uint64_t oracle(int from) const {
    std::uint64_t seen = 0;
    std::vector<int> left{from};
    while (!left.empty()) {
      const int n = left.back();
      left.pop_back();
      for (int to = 0; to < 64; ++to)
        if ((table.at(n) >> to & 1) != 0 && (seen >> to & 1) == 0) {
          seen |= std::uint64_t{1} << to;
          left.push_back(to);
        }
    }
    return seen;
  }
  Graph graph;
  std::atomic<int> runs{0};
  std::map<int, std::uint64_t> table;
  std::optional<Input<int, std::uint64_t>> edges;
  std::optional<Function<int, std::uint64_t>> reach;
};

TEST(GraphCycle, SettlesWhereEveryHeadComesOutAsItWasRead) {  // 13
  for (const int first : {0, 1, 2, 3}) {
    Reach r;
    r.set(0, 0b0010);
    r.set(1, 0b0100);
    r.set(2, 0b1001);  // back to 0, and on to 3
    r.set(3, 0);
    EXPECT_EQ(r.graph.get(*r.reach, first).value(), r.oracle(first)) << "whoever is asked first";
    for (int n = 0; n < 4; ++n) EXPECT_EQ(r.graph.get(*r.reach, n).value(), r.oracle(n));
    EXPECT_EQ(r.graph.check(), "");
    const int before = r.runs;
    for (int n = 0; n < 4; ++n) r.graph.get(*r.reach, n).value();
    EXPECT_EQ(r.runs, before) << "kept";
  }
}

TEST(GraphCycle, IsSolvedAnewWhenSomethingOutsideOfItChanges) {
  Reach r;
  r.set(0, 0b010);
  r.set(1, 0b001);
  r.set(2, 0b1000);
  r.set(3, 0);
  auto want = r.graph.want(*r.reach, 1).value();
  EXPECT_EQ(r.graph.get(*r.reach, 1).value(), 0b011u);
  r.set(0, 0b110);
  EXPECT_EQ(r.graph.get(*r.reach, 1).value(), 0b1111u);
  EXPECT_EQ(r.graph.check(), "");
  const int before = r.runs;
  r.graph.set(*r.edges, 9, 1).value();
  EXPECT_EQ(r.graph.get(*r.reach, 0).value(), 0b1111u);
  EXPECT_EQ(r.runs, before);
  r.set(0, 0b100);  // the cycle is gone, and what it had brought with it
  EXPECT_EQ(r.graph.get(*r.reach, 1).value(), 0b1101u);
  EXPECT_EQ(r.graph.get(*r.reach, 0).value(), 0b1100u);
  EXPECT_EQ(r.graph.check(), "");
}

TEST(GraphCycle, CutsOffWhereItComesOutTheSame) {
  Reach r;
  int runs = 0;
  auto count = r.graph.function("count", [&](Context& c, int n) {
    ++runs;
    return std::popcount(c.get(*r.reach, n));
  });
  r.set(0, 0b010);
  r.set(1, 0b001);
  EXPECT_EQ(r.graph.get(count, 0).value(), 2);
  runs = 0;
  r.set(1, 0b011);  // an edge more, and reached is what was reached
  EXPECT_EQ(r.graph.get(count, 0).value(), 2);
  EXPECT_EQ(runs, 0) << "the rounds in between are nobody's business";
  EXPECT_EQ(r.graph.check(), "");
}

TEST(GraphCycle, GoesThroughFunctionsWithoutAStartValue) {
  for (const bool asks_head_first : {false, true}) {
    Graph graph;
    std::optional<Function<int, int>> head;
    auto in = graph.input<NoKey, int>("in");
    auto plain =
        graph.function("plain", [&](Context& c, int n) { return std::min(c.get(*head, n) + 1, c.get(in)); });
    head = graph.cyclic("head", 0, [&](Context& c, int n) { return c.get(plain, n); });
    graph.set(in, {}, 7).value();
    if (asks_head_first) {
      EXPECT_EQ(graph.get(*head, 1).value(), 7);
    }
    EXPECT_EQ(graph.get(plain, 1).value(), 7);
    EXPECT_EQ(graph.get(*head, 1).value(), 7);
    EXPECT_EQ(graph.check(), "");
    graph.set(in, {}, 4).value();
    EXPECT_EQ(graph.get(plain, 1).value(), 4) << "from the start, not from where it had been";
    EXPECT_EQ(graph.check(), "");
  }
}

TEST(GraphCycle, WithoutRoundsFallsBackToTheStartValue) {  // 13
  for (const int first : {0, 1}) {
    Graph graph;
    std::optional<Function<int, std::string>> self;
    auto cuts = graph.input<NoKey, bool>("cuts");
    auto f = graph.cyclic(
        "f", std::string("loop"),
        [&](Context& c, int n) {
          if (c.get(cuts) && n == 1) return std::string("end");
          return std::to_string(n) + c.get(*self, 1 - n);
        },
        0);
    self = f;
    graph.set(cuts, {}, false).value();
    EXPECT_EQ(graph.get(f, first).value(), "loop");
    EXPECT_EQ(graph.get(f, 1 - first).value(), "loop");
    EXPECT_EQ(graph.check(), "");
    graph.set(cuts, {}, true).value();
    EXPECT_EQ(graph.get(f, 0).value(), "0end");
    EXPECT_EQ(graph.get(f, 1).value(), "end");
    EXPECT_EQ(graph.check(), "");
  }
}

TEST(GraphCycle, ThatDoesNotSettleIsAnErrorAfterItsRounds) {  // 13
  Graph graph;
  std::optional<Function<int, int>> self;
  auto stop = graph.input<NoKey, int>("stop");
  auto f = graph.cyclic(
      "f", 0, [&](Context& c, int n) { return std::min(c.get(*self, n) + 1, c.get(stop)); }, 10);
  self = f;
  auto g = graph.function("g", [&](Context& c, int n) { return c.try_get(f, n).value_or(-1); });
  graph.set(stop, {}, 1000).value();
  EXPECT_EQ(graph.get(f, 5).error().what, "f(5): the cycle through it has not settled after 10 rounds");
  EXPECT_EQ(graph.get(f, 5).error().code, Code::maker_failed);
  EXPECT_EQ(graph.get(g, 5).value(), -1);
  EXPECT_EQ(graph.check(), "");
  graph.set(stop, {}, 8).value();
  EXPECT_EQ(graph.get(f, 5).value(), 8);
  EXPECT_EQ(graph.get(g, 5).value(), 8);
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphCycle, WithoutAHeadIsStillAnErrorInsideOfOneThatHas) {
  Graph graph;
  std::optional<Function<int, int>> head;
  std::optional<Function<int, int>> bad;
  auto b = graph.function("bad", [&](Context& c, int n) -> int { return c.get(*bad, 1 - n); });
  bad = b;
  head = graph.cyclic("head", 1, [&](Context& c, int n) {
    return std::min(5, c.get(*head, n) + (c.try_get(b, 0) ? 100 : 1));
  });
  EXPECT_EQ(graph.get(*head, 0).value(), 5);
  EXPECT_THAT(graph.get(b, 1).error().what, HasSubstr("cycle: bad("));
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphCycle, GivesUpForANewerRevisionAndLeavesNothingBehind) {
  for (const unsigned threads : {1u, 3u}) {
    Graph graph({.threads = threads});
    std::optional<Function<int, int>> self;
    std::latch is_running(1);
    std::atomic<bool> waits{true};
    auto in = graph.input<NoKey, int>("in");
    auto f = graph.cyclic("f", 0, [&](Context& c, int n) {
      const int below = c.get(*self, 1 - n);
      if (below > 1 && waits.exchange(false)) {
        is_running.count_down();
        while (!c.is_superseded()) std::this_thread::yield();
      }
      return std::min(below + 1, c.get(in));
    });
    self = f;
    graph.set(in, {}, 5).value();
    Result<int> value = 0;
    std::thread reader([&] { value = graph.get(f, 0); });
    is_running.wait();
    graph.set(in, {}, 3).value();
    reader.join();
    EXPECT_EQ(value.value(), 3);
    EXPECT_EQ(graph.get(f, 1).value(), 3);
    EXPECT_EQ(graph.check(), "");
  }
}

TEST(GraphCycle, IsSolvedOnceThoughThreadsEnterItFromAllSides) {  // 13, 14
  for (int round = 0; round < 20; ++round) {
    Reach r({.threads = 3});
    for (int n = 0; n < 6; ++n) r.set(n, std::uint64_t{1} << (n + 1) % 6);
    std::vector<std::thread> threads;
    std::latch start(3);
    for (int n : {0, 2, 4})
      threads.emplace_back([&, n] {
        start.arrive_and_wait();
        EXPECT_EQ(r.graph.get(*r.reach, n).value(), 0b111111u);
      });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(r.graph.check(), "");
  }
}

void run_random(unsigned seeds, int steps, const GraphOptions& options) {
  for (unsigned seed = 1; seed <= seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    Reach r(options);
    constexpr int kNodes = 10;
    for (int n = 0; n < kNodes; ++n) r.set(n, 0);
    std::map<int, Want> wants;
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      const int n = draw(kNodes);
      if (getenv("TRACE")) fprintf(stderr, "seed %u step %d\n", seed, i);
      switch (draw(4)) {
        case 0:
          r.set(n, draw(3) == 0 ? 0 : (1u << draw(kNodes) | 1u << draw(kNodes)));
          break;
        case 1:
          if (wants.erase(n) == 0) wants.emplace(n, std::move(r.graph.want(*r.reach, n).value()));
          break;
        default:
          ASSERT_EQ(r.graph.get(*r.reach, n).value(), r.oracle(n)) << "node " << n << ", step " << i;
      }
      ASSERT_EQ(r.graph.check(), "") << "step " << i;
    }
  }
}

TEST(GraphCycle, EqualsASearchFromScratchOnRandomGraphs) {
  run_random(6, 200, {.lines_max = 0});
}

TEST(GraphCycle, EqualsASearchFromScratchOnSeveralThreads) {
  run_random(3, 100, {.lines_max = 0, .threads = 3});
}

TEST(GraphCycle, EqualsASearchFromScratchWhileValuesAreEvicted) {
  run_random(4, 100, {.lines_max = 3});
}

TEST(StressGraphCycle, EqualsASearchFromScratchOnManyRandomGraphs) {
  run_random(60, 1000, {.lines_max = 0});
  run_random(20, 300, {.lines_max = 3});
  run_random(10, 300, {.lines_max = 4, .threads = 3});
}

}  // namespace
}  // namespace larder
