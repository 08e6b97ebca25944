// Values under the replacement policy, and depth: what scenarios 23 to 28 ask.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "larder/graph.hpp"
#include "reactive/testing.hpp"

namespace larder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Ran;

TEST(GraphLines, MakesAnEvictedValueAgainOnlyWhenItIsRead) {  // 23
  Graph graph({.lines_max = 1});
  Ran ran;
  auto in = graph.input<int, std::string>("in");
  auto low = graph.function("low", [&](Context& c) {
    ran("low");
    return c.get(in, 1) + ".";
  });
  auto high = graph.function("high", [&](Context& c) {
    ran("high");
    return c.get(low) + "!";
  });
  graph.batch().set(in, 1, "a").set(in, 2, "b").commit().value();
  EXPECT_EQ(graph.get(high).value(), "a.!");
  EXPECT_EQ(graph.stats().lines, 1u);
  EXPECT_EQ(graph.stats().evictions, 1u) << "low had to leave";
  ran.take();
  graph.set(in, 2, "c").value();
  EXPECT_EQ(graph.get(high).value(), "a.!");
  EXPECT_THAT(ran.take(), IsEmpty()) << "its consumer is not disturbed";
  graph.set(in, 1, "a").value();
  EXPECT_EQ(graph.get(low).value(), "a.");
  EXPECT_THAT(ran.take(), ElementsAre("low"));
  EXPECT_EQ(graph.get(high).value(), "a.!") << "evicted by low, and found up to date";
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphLines, CutsOffByTheDigestOfAnEvictedValue) {  // 23
  Graph graph({.lines_max = 2});
  Ran ran;
  auto in = graph.input<NoKey, std::string>("in");
  auto size = graph.function("size", [&](Context& c) {
    ran("size");
    return std::string(c.get(in).size(), 'x');
  });
  auto high = graph.function("high", [&](Context& c) {
    ran("high");
    return c.get(size) + "!";
  });
  graph.set(in, {}, "abc").value();
  auto want = graph.want(high, {}).value();
  graph.resize(1);
  EXPECT_EQ(graph.stats().lines, 1u) << "the wanted value stays, what it is made of does not";
  ran.take();
  graph.set(in, {}, "xyz").value();
  EXPECT_THAT(ran.take(), ElementsAre("size")) << "cut off though the value before is gone";
  graph.set(in, {}, "wxyz").value();
  EXPECT_EQ(graph.get(high).value(), "xxxx!");
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphLines, ReportsAFunctionThatGivesAnotherResultForTheSameReads) {  // 24
  std::vector<std::string> reports;
  Graph graph({.lines_max = 1, .report = [&](const std::string& what) { reports.push_back(what); }});
  int calls = 0;
  auto in = graph.input<int, int>("in");
  auto bad = graph.function("bad", [&](Context& c, int n) { return c.get(in, n) + ++calls; });
  auto high = graph.function("high", [&](Context& c, int n) { return c.get(bad, n); });
  graph.set(in, 1, 0).value();
  EXPECT_EQ(graph.get(high, 1).value(), 1);
  EXPECT_THAT(reports, IsEmpty());
  EXPECT_EQ(graph.get(bad, 1).value(), 2);
  EXPECT_THAT(reports, ElementsAre(HasSubstr("bad(1): gave another result")));
  EXPECT_EQ(graph.get(high, 1).value(), 2) << "whoever read the first hears of the second";
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphLines, GivesUsedLinesASecondChance) {  // 25
  Graph graph({.lines_max = 3});
  Ran ran;
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c, int n) {
    ran(std::to_string(n));
    return c.get(in, 0) + n;
  });
  graph.set(in, 0, 0).value();
  for (int n : {1, 2, 3}) graph.get(f, n).value();
  graph.get(f, 4).value();  // all bits are set: the hand clears them and takes the first
  ran.take();
  graph.get(f, 2).value();  // used again
  graph.get(f, 5).value();  // takes 3
  EXPECT_EQ(graph.get(f, 2).value(), 2);
  EXPECT_THAT(ran.take(), ElementsAre("5"));
  graph.get(f, 3).value();
  EXPECT_THAT(ran.take(), ElementsAre("3"));
  EXPECT_EQ(graph.stats().lines, 3u);
}

TEST(GraphLines, NeverEvictsWhatIsWantedSubscribedOrRunning) {  // 25
  Graph graph({.lines_max = 2});
  Ran ran;
  auto in = graph.input<int, int>("in");
  std::optional<Function<int, int>> self;
  auto f = graph.function("f", [&](Context& c, int n) -> int {
    ran(std::to_string(n));
    int sum = c.get(in, 0);
    for (int i = 0; n >= 100 && i < 20; ++i) sum += c.get(*self, i);
    return sum + n;
  });
  self = f;
  graph.set(in, 0, 0).value();
  auto want = graph.want(f, 1).value();
  auto subscription = graph.subscribe(f, 2, [](const Result<int>&, Revision) {}).value();
  for (int n = 3; n < 50; ++n) graph.get(f, n).value();
  ran.take();
  EXPECT_EQ(graph.get(f, 1).value(), 1);
  EXPECT_EQ(graph.get(f, 2).value(), 2);
  EXPECT_THAT(ran.take(), IsEmpty());
  EXPECT_EQ(graph.get(f, 100).value(), 290) << "more to read than there are lines";
  graph.set(in, 0, 1).value();
  EXPECT_EQ(graph.get(f, 100).value(), 311);
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphLines, HoldsOneLineAndGrowsAndShrinks) {  // 25
  Graph graph({.lines_max = 1});
  Ran ran;
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c, int n) {
    ran("f");
    return c.get(in, 0) + n;
  });
  graph.set(in, 0, 0).value();
  for (int n = 0; n < 10; ++n) EXPECT_EQ(graph.get(f, n).value(), n);
  EXPECT_EQ(graph.stats().lines, 1u);
  EXPECT_EQ(graph.stats().nodes, 2u) << "evicted nodes that nobody depends on are gone";
  graph.resize(100);
  for (int n = 0; n < 50; ++n) graph.get(f, n).value();
  EXPECT_EQ(graph.stats().lines, 50u);
  graph.resize(7);
  EXPECT_EQ(graph.stats().lines, 7u);
  graph.resize(0);
  for (int n = 0; n < 5000; ++n) graph.get(f, n).value();
  ran.take();
  for (int n = 0; n < 5000; ++n) graph.get(f, n).value();
  EXPECT_THAT(ran.take(), IsEmpty()) << "no limit";
  graph.resize(5);
  EXPECT_EQ(graph.stats().lines, 5u);
  EXPECT_EQ(graph.check(), "");
}

TEST(GraphLines, KeepsToACapOnBytes) {
  Graph graph({.lines_max = 0, .bytes_max = 100'000});
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c, int n) {
    return std::string(static_cast<std::size_t>(c.get(in, 0) + n) * 1000, 'x');
  });
  graph.set(in, 0, 0).value();
  for (int n = 0; n < 40; ++n) {
    EXPECT_EQ(graph.get(f, n).value().size(), static_cast<std::size_t>(n) * 1000);
    EXPECT_LE(graph.stats().bytes, 100'000u);
  }
  EXPECT_GE(graph.stats().lines, 2u);
}

TEST(GraphLines, RefusesAPolicyThatDoesNotExist) {
  EXPECT_THROW(Graph({.policy = "guess"}), std::invalid_argument);
}

// A value that was evicted and comes back is not news.
TEST(GraphLines, TellsNobodyTwiceAfterEviction) {  // 21
  Graph graph({.lines_max = 1});
  auto in = graph.input<int, std::string>("in");
  auto low = graph.function("low", [&](Context& c, int n) { return c.get(in, n).substr(0, 1); });
  auto high = graph.function("high", [&](Context& c, int n) { return c.get(low, n) + "!"; });
  graph.set(in, 1, "a1").value();
  std::vector<std::string> told;
  auto subscription =
      graph.subscribe(high, 1, [&](const Result<std::string>& v, Revision) { told.push_back(*v); });
  for (int i = 0; i < 10; ++i) {
    graph.set(in, 1, std::string("a").append(std::to_string(i))).value();
    graph.get(low, 1).value();
    graph.get(low, 2).error();
  }
  EXPECT_THAT(told, IsEmpty());
  graph.set(in, 1, "b").value();
  EXPECT_THAT(told, ElementsAre("b!"));
}

struct Deep {
  explicit Deep(int length) : graph({.lines_max = 0}), last(length - 1) {
    in = graph.input<NoKey, std::uint64_t>("in");
    f = graph.function("f", [this](Context& c, int n) -> std::uint64_t {
      return n == 0 ? c.get(*in) : c.get(*f, n - 1) + 1;
    });
    graph.set(*in, {}, 0).value();
  }
  Graph graph;
  int last;
  std::optional<Input<NoKey, std::uint64_t>> in;
  std::optional<Function<int, std::uint64_t>> f;
};

void go_deep(int length) {
  Deep deep(length);
  const auto top = static_cast<std::uint64_t>(length - 1);
  EXPECT_EQ(deep.graph.get(*deep.f, deep.last).value(), top);  // cold
  EXPECT_LE(deep.graph.stats().restarts, static_cast<std::uint64_t>(length) + 1)
      << "none starts more than twice";
  deep.graph.set(*deep.in, {}, 10).value();
  EXPECT_EQ(deep.graph.get(*deep.f, deep.last).value(), top + 10);  // pulled
  EXPECT_EQ(deep.graph.stats().evaluations, 2 * static_cast<std::uint64_t>(length));
  {
    auto want = deep.graph.want(*deep.f, deep.last).value();
    deep.graph.set(*deep.in, {}, 20).value();  // pushed
    EXPECT_EQ(deep.graph.get(*deep.f, deep.last).value(), top + 20);
    EXPECT_EQ(deep.graph.stats().evaluations, 3 * static_cast<std::uint64_t>(length));
  }
  EXPECT_EQ(deep.graph.check(), "");
  deep.graph.resize(1);  // all dependencies stay, one value does
  EXPECT_EQ(deep.graph.get(*deep.f, deep.last).value(), top + 20);
  deep.graph.erase(*deep.in, {}).value();
  EXPECT_EQ(deep.graph.get(*deep.f, deep.last).error().what, "in(): was never set");
}

TEST(GraphDepth, AChainOfThirtyThousandMeetsNoStack) {
  go_deep(30'000);
}

TEST(StressGraphDepth, AChainOfAMillionMeetsNoStack) {  // 27
  go_deep(1'000'000);
}

void go_wide(int width) {
  Graph graph({.lines_max = 0});
  auto in = graph.input<int, int>("in");
  auto spoke = graph.function("spoke", [&](Context& c, int n) { return c.get(in, 0) + n % 2; });
  auto hub = graph.function("hub", [&](Context& c) {
    long sum = 0;
    for (int n = 0; n < width; ++n) sum += c.get(spoke, n);
    // What was asked for before is recorded once.
    for (int n = 0; n < width; ++n) sum += c.get(spoke, n);
    return sum;
  });
  graph.set(in, 0, 0).value();
  EXPECT_EQ(graph.get(hub).value(), width);
  auto want = graph.want(hub, {}).value();
  graph.set(in, 0, 1).value();
  EXPECT_EQ(graph.get(hub).value(), 3 * long{width});
  EXPECT_EQ(graph.check(), "");
  EXPECT_EQ(graph.stats().evaluations, 2 * (static_cast<std::uint64_t>(width) + 1));
}

TEST(GraphDepth, AHubOfAHundredThousandTakesNoQuadraticStep) {
  go_wide(100'000);
}

TEST(StressGraphDepth, AHubOfAMillionTakesNoQuadraticStep) {  // 28
  go_wide(1'000'000);
}

}  // namespace
}  // namespace larder
