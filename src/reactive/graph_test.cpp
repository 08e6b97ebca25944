// Scenarios of reactive graphs, numbered as in docs/reactive.md. Every test asserts the exact evaluations.
#include "larder/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <stdexcept>

#include "reactive/testing.hpp"

namespace larder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Log;
using testing::Ran;
using ::testing::UnorderedElementsAre;

TEST(Graph, MakesOnFirstReadAndKeeps) {
  Graph graph;
  Ran ran;
  auto in = graph.input<int, int>("in");
  auto twice = graph.function("twice", [&](Context& context, int key) {
    ran("twice");
    return 2 * context.get(in, key);
  });
  ASSERT_TRUE(graph.set(in, 1, 21));
  EXPECT_EQ(graph.get(twice, 1).value(), 42);
  EXPECT_EQ(graph.get(twice, 1).value(), 42);
  EXPECT_THAT(ran.take(), ElementsAre("twice"));
  EXPECT_EQ(graph.check(), "");
}

TEST(Graph, RunsNothingWhenAnInputIsSetToAnEqualValue) {  // 1
  Graph graph;
  Ran ran;
  auto in = graph.input<int, std::string>("in");
  auto size = graph.function("size", [&](Context& context, int key) {
    ran("size");
    return context.get(in, key).size();
  });
  int told = 0;
  ASSERT_EQ(graph.set(in, 1, "abc").value(), 1u);
  auto subscription = graph.subscribe(size, 1, [&](const Result<std::size_t>&, Revision) { ++told; });
  EXPECT_THAT(ran.take(), ElementsAre("size"));
  EXPECT_EQ(graph.set(in, 1, "abc").value(), 1u) << "no new revision";
  EXPECT_THAT(ran.take(), IsEmpty());
  EXPECT_EQ(told, 0);
}

TEST(Graph, PromotesConsumersOfWhatComesOutEqual) {  // 2
  Graph graph;
  Ran ran;
  auto in = graph.input<NoKey, std::string>("in");
  auto first = graph.function("first", [&](Context& context) {
    ran("first");
    return context.get(in).substr(0, 1);
  });
  auto shout = graph.function("shout", [&](Context& context) {
    ran("shout");
    return context.get(first) + "!";
  });
  ASSERT_TRUE(graph.set(in, {}, "abc"));
  EXPECT_EQ(graph.get(shout).value(), "a!");
  ran.take();
  ASSERT_TRUE(graph.set(in, {}, "axx"));
  EXPECT_EQ(graph.get(shout).value(), "a!");
  EXPECT_THAT(ran.take(), ElementsAre("first"));
  const auto promotions = graph.stats().promotions;
  EXPECT_EQ(promotions, 1u);
  EXPECT_EQ(graph.get(shout).value(), "a!");
  EXPECT_EQ(graph.stats().promotions, promotions) << "it stands in the new revision now";
}

TEST(Graph, DoesNotRunWhoReadsAnotherField) {  // 3
  Graph graph;
  Ran ran;
  auto x = graph.input<int, int>("x");
  auto y = graph.input<int, int>("y");
  auto reads_x = graph.function("reads_x", [&](Context& context, int key) {
    ran("reads_x");
    return context.get(x, key);
  });
  auto reads_y = graph.function("reads_y", [&](Context& context, int key) {
    ran("reads_y");
    return context.get(y, key);
  });
  graph.batch().set(x, 1, 1).set(y, 1, 1).commit().value();
  graph.get(reads_x, 1).value();
  graph.get(reads_y, 1).value();
  ran.take();
  graph.set(y, 1, 2).value();
  EXPECT_EQ(graph.get(reads_x, 1).value(), 1);
  EXPECT_EQ(graph.get(reads_y, 1).value(), 2);
  EXPECT_THAT(ran.take(), ElementsAre("reads_y"));
}

TEST(Graph, RunsTheBottomOfADiamondOnceAfterBothArms) {  // 4, arms of unequal length
  for (const bool is_live : {false, true}) {
    Graph graph;
    Ran ran;
    auto in = graph.input<NoKey, int>("in");
    auto a = graph.function("a", [&](Context& c) { return c.get(in) + 1 + (ran("a"), 0); });
    auto b1 = graph.function("b1", [&](Context& c) { return c.get(in) + 2 + (ran("b1"), 0); });
    auto b2 = graph.function("b2", [&](Context& c) { return c.get(b1) + 3 + (ran("b2"), 0); });
    auto end = graph.function("end", [&](Context& c) {
      const int value = c.get(a) * 1000 + c.get(b2);
      ran("end");
      return value;
    });
    graph.set(in, {}, 1).value();
    Want want;
    if (is_live) want = graph.want(end, {}).value();
    EXPECT_EQ(graph.get(end).value(), 2006);
    ran.take();
    graph.set(in, {}, 2).value();
    if (is_live) {
      EXPECT_EQ(ran.log.back(), "end");
      EXPECT_THAT(ran.take(), UnorderedElementsAre("a", "b1", "b2", "end")) << "greedily, before anyone asks";
    }
    EXPECT_EQ(graph.get(end).value(), 3007);
    if (!is_live) {
      EXPECT_THAT(ran.take(), UnorderedElementsAre("a", "b1", "b2", "end"));
    }
    EXPECT_THAT(ran.take(), IsEmpty());
    EXPECT_EQ(graph.check(), "");
  }
}

TEST(Graph, ForgetsADependencyThatIsNotAskedForAnyMore) {  // 5
  for (const bool is_live : {false, true}) {
    Graph graph;
    Ran ran;
    auto choose = graph.input<NoKey, bool>("choose");
    auto in = graph.input<int, int>("in");
    auto f = graph.function("f", [&](Context& c) {
      ran("f");
      return c.get(choose) ? c.get(in, 1) : 0;
    });
    graph.batch().set(choose, {}, true).set(in, 1, 7).commit().value();
    Want want;
    if (is_live) want = graph.want(f, {}).value();
    EXPECT_EQ(graph.get(f).value(), 7);
    graph.set(choose, {}, false).value();
    EXPECT_EQ(graph.get(f).value(), 0);
    ran.take();
    graph.set(in, 1, 8).value();
    EXPECT_EQ(graph.get(f).value(), 0);
    EXPECT_THAT(ran.take(), IsEmpty());
    EXPECT_EQ(graph.check(), "");
  }
}

TEST(Graph, SeesWhatIsHigherOnlyOnceItHasSettled) {  // 6
  Graph graph;
  Ran ran;
  auto in = graph.input<NoKey, int>("in");
  std::optional<Function<int, int>> self;
  auto level = graph.function("level", [&](Context& c, int n) -> int {
    ran("level" + std::to_string(n));
    return n == 0 ? c.get(in) : c.get(*self, n - 1);
  });
  self = level;
  std::vector<int> seen;
  auto low = graph.function("low", [&](Context& c) {
    ran("low");
    const int odd = c.get(in) % 2;
    if (odd == 0) return -1;
    seen.push_back(c.get(level, 5));
    return seen.back();
  });
  graph.set(in, {}, 2).value();
  auto top = graph.want(level, 5).value();
  auto bottom = graph.want(low, {}).value();
  ran.take();
  graph.set(in, {}, 3).value();
  EXPECT_EQ(graph.get(low).value(), 3);
  EXPECT_THAT(seen, ElementsAre(3)) << "never the value of the revision before";
  EXPECT_THAT(ran.take(),
              UnorderedElementsAre("level0", "level1", "level2", "level3", "level4", "level5", "low"));
  EXPECT_EQ(graph.check(), "");
  graph.set(in, {}, 5).value();
  EXPECT_THAT(seen, ElementsAre(3, 5));
  EXPECT_EQ(graph.check(), "");
}

TEST(Graph, DoesNotRunWhatItsConsumerTurnsAwayFrom) {  // 7
  for (const bool is_live : {false, true}) {
    for (const bool is_deep : {false, true}) {
      Graph graph;
      Ran ran;
      auto which = graph.input<NoKey, int>("which");
      auto in = graph.input<int, int>("in");
      auto chosen = graph.function("chosen", [&](Context& c) {
        ran("chosen");
        return c.get(which);
      });
      auto arm = graph.function("arm", [&](Context& c, int n) {
        ran("arm" + std::to_string(n));
        return c.get(in, n);
      });
      auto f = graph.function("f", [&](Context& c) {
        ran("f");
        return c.get(arm, is_deep ? c.get(chosen) : c.get(which));
      });
      graph.batch().set(which, {}, 1).set(in, 1, 10).set(in, 2, 20).commit().value();
      Want want;
      if (is_live) want = graph.want(f, {}).value();
      EXPECT_EQ(graph.get(f).value(), 10);
      ran.take();
      graph.batch().set(which, {}, 2).set(in, 1, 11).commit().value();
      EXPECT_EQ(graph.get(f).value(), 20);
      if (is_deep)
        EXPECT_THAT(ran.take(), ElementsAre("chosen", "f", "arm2"));
      else
        EXPECT_THAT(ran.take(), ElementsAre("f", "arm2"));
      EXPECT_EQ(graph.check(), "");
      EXPECT_EQ(graph.get(arm, 1).value(), 11);
      EXPECT_THAT(ran.take(), ElementsAre("arm1"));
      EXPECT_EQ(graph.check(), "");
    }
  }
}

TEST(Graph, NeverMakesALaterDependencyThatAnEarlierOneMakesInvalid) {  // 8
  Graph graph;
  Ran ran;
  auto length = graph.input<NoKey, int>("length");
  auto item = graph.function("item", [&](Context& c, int i) -> Result<int> {
    ran("item" + std::to_string(i));
    if (i >= c.get(length)) return fail(Code::invalid_argument, "beyond the end");
    return i;
  });
  auto sum = graph.function("sum", [&](Context& c) {
    ran("sum");
    int total = 0;
    const int count = c.get(length);
    for (int i = 0; i < count; ++i) total += c.get(item, i);
    return total;
  });
  graph.set(length, {}, 3).value();
  EXPECT_EQ(graph.get(sum).value(), 3);
  ran.take();
  graph.set(length, {}, 2).value();
  EXPECT_EQ(graph.get(sum).value(), 1);
  EXPECT_THAT(ran.take(), ElementsAre("sum", "item0", "item1"));
}

TEST(Graph, LooksAtNothingAfterAnUnrelatedWrite) {  // 9, 10
  Graph graph({.lines_max = 0});
  auto a = graph.input<int, int>("a");
  auto b = graph.input<int, int>("b");
  auto f = graph.function("f", [&](Context& c, int n) { return c.get(a, n) + c.get(a, n + 1); });
  for (int i = 0; i < 100; ++i) graph.set(a, i, i).value();
  for (int i = 0; i < 99; ++i) graph.get(f, i).value();
  const GraphStats before = graph.stats();
  for (int i = 0; i < 50; ++i) {
    graph.set(b, 1, i).value();
    EXPECT_EQ(graph.get(f, i).value(), 2 * i + 1);
  }
  EXPECT_EQ(graph.stats().evaluations, before.evaluations);
  EXPECT_EQ(graph.stats().promotions, before.promotions);
  graph.set(a, 7, 0).value();
  EXPECT_EQ(graph.get(f, 7).value(), 8) << "what was left alone for long is still seen to change";
}

TEST(Graph, NamesTheCycleAndStaysUsable) {  // 11
  Graph graph;
  std::optional<Function<std::string, int>> g;
  auto next = graph.input<std::string, std::string>("next");
  auto f = graph.function("walk", [&](Context& c, const std::string& at) -> int {
    const std::string& to = c.get(next, at);
    return to.empty() ? 0 : 1 + c.get(*g, to);
  });
  g = f;
  graph.batch()
      .set(next, "self", "self")
      .set(next, "a", "b")
      .set(next, "b", "a")
      .set(next, "c", "")
      .commit()
      .value();
  const auto direct = graph.get(f, "self");
  ASSERT_FALSE(direct);
  EXPECT_EQ(direct.error().code, Code::would_deadlock);
  EXPECT_EQ(direct.error().what, "cycle: walk(self) -> walk(self)");
  EXPECT_EQ(graph.get(f, "a").error().what, "cycle: walk(a) -> walk(b) -> walk(a)");
  EXPECT_EQ(graph.get(f, "c").value(), 0);
  EXPECT_EQ(graph.check(), "");
  auto want = graph.want(f, "c").value();
  graph.set(next, "c", "c").value();
  EXPECT_EQ(graph.get(f, "c").error().what, "cycle: walk(c) -> walk(c)")
      << "through a new edge, while pushing";
  graph.batch().set(next, "c", "b").set(next, "b", "").commit().value();
  EXPECT_EQ(graph.get(f, "c").value(), 1);
  EXPECT_EQ(graph.get(f, "a").value(), 1);
  EXPECT_EQ(graph.get(f, "b").value(), 0);
  EXPECT_EQ(graph.check(), "");
}

TEST(Graph, DoesNotReportACycleThatOnlyOldDependenciesMake) {  // 12
  for (const bool is_live : {false, true}) {
    Graph graph;
    auto turn = graph.input<NoKey, bool>("turn");
    std::optional<Function<int, int>> g;
    auto f = graph.function("f", [&](Context& c, int n) -> int {
      const bool turned = c.get(turn);
      if (n == 0) return turned ? 100 + c.get(*g, 1) : 5;
      return turned ? 6 : 100 + c.get(*g, 0);
    });
    g = f;
    graph.set(turn, {}, false).value();
    Want want0;
    Want want1;
    if (is_live) want0 = graph.want(f, 0).value();
    if (is_live) want1 = graph.want(f, 1).value();
    EXPECT_EQ(graph.get(f, 1).value(), 105);
    graph.set(turn, {}, true).value();
    EXPECT_EQ(graph.get(f, 0).value(), 106);
    EXPECT_EQ(graph.get(f, 1).value(), 6);
    EXPECT_EQ(graph.check(), "");
    graph.set(turn, {}, false).value();
    EXPECT_EQ(graph.get(f, 0).value(), 5);
    EXPECT_EQ(graph.get(f, 1).value(), 105);
    EXPECT_EQ(graph.check(), "");
  }
}

TEST(Graph, KeepsAnErrorWithItsDependenciesAndRecovers) {  // 16
  for (const bool is_live : {false, true}) {
    Graph graph;
    Ran ran;
    auto in = graph.input<int, int>("in");
    auto f = graph.function("f", [&](Context& c, int n) -> int {
      ran("f");
      if (c.get(in, n) == 0) throw std::runtime_error("in is zero");
      return 100 / c.get(in, n);
    });
    auto g = graph.function("g", [&](Context& c, int n) {
      ran("g");
      return c.get(f, n) + 1;
    });
    graph.set(in, 1, 0).value();
    Want want;
    if (is_live) want = graph.want(g, 1).value();
    EXPECT_EQ(graph.get(g, 1).error().what, "in is zero");
    EXPECT_EQ(graph.get(g, 1).error().code, Code::maker_failed);
    EXPECT_THAT(ran.take(), UnorderedElementsAre("g", "f"));
    graph.set(in, 2, 1).value();
    EXPECT_EQ(graph.get(g, 1).error().what, "in is zero");
    EXPECT_THAT(ran.take(), IsEmpty()) << "errors are results";
    graph.set(in, 1, 4).value();
    EXPECT_EQ(graph.get(g, 1).value(), 26);
    EXPECT_EQ(graph.check(), "");
  }
}

TEST(Graph, KeepsATransientErrorForOneRevisionOnly) {  // 17
  Graph graph;
  Ran ran;
  auto in = graph.input<int, int>("in");
  bool is_down = true;
  auto f = graph.function("f", [&](Context& c, int n) -> Result<int> {
    ran("f");
    if (is_down) return fail(Code::transient, "server away");
    return c.get(in, n);
  });
  auto g = graph.function("g", [&](Context& c, int n) {
    ran("g");
    return c.get(f, n);
  });
  auto h = graph.function("h", [&](Context& c, int n) {
    ran("h");
    return c.get(f, n);
  });
  graph.set(in, 1, 5).value();
  EXPECT_EQ(graph.get(g, 1).error().code, Code::transient);
  EXPECT_EQ(graph.get(h, 1).error().code, Code::transient);
  EXPECT_THAT(ran.take(), ElementsAre("g", "f", "h")) << "shared inside one revision";
  graph.set(in, 2, 1).value();
  is_down = false;
  EXPECT_EQ(graph.get(g, 1).value(), 5);
  EXPECT_EQ(graph.get(h, 1).value(), 5);
  EXPECT_THAT(ran.take(), ElementsAre("f", "g", "h"));
  EXPECT_EQ(graph.check(), "");
}

TEST(Graph, LeavesTheExactListOfDependenciesWhenOneOfAGroupFails) {  // 18
  Graph graph;
  Ran ran;
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c) {
    ran("f");
    return c.get(in, 1) + c.get(in, 2) + c.get(in, 3);
  });
  graph.batch().set(in, 1, 1).set(in, 3, 3).commit().value();
  EXPECT_EQ(graph.get(f).error().what, "in(2): was never set");
  ran.take();
  graph.set(in, 3, 4).value();
  EXPECT_FALSE(graph.get(f));
  EXPECT_THAT(ran.take(), IsEmpty()) << "it never got so far as to read 3";
  graph.set(in, 2, 2).value();
  EXPECT_EQ(graph.get(f).value(), 7);
  graph.erase(in, 2).value();
  EXPECT_EQ(graph.get(f).error().what, "in(2): was never set");
  EXPECT_EQ(graph.check(), "");
}

TEST(Graph, GivesErrorsAsValuesToWhoTries) {
  Graph graph;
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c) { return c.try_get(in, 1).value_or(-1); });
  EXPECT_EQ(graph.get(f).value(), -1);
  graph.set(in, 1, 3).value();
  EXPECT_EQ(graph.get(f).value(), 3);
}

TEST(Graph, TellsSubscribersOnceAndOnlyWhatDiffers) {  // 21
  Graph graph;
  auto in = graph.input<int, int>("in");
  auto half = graph.function("half", [&](Context& c, int n) { return c.get(in, n) / 2; });
  std::vector<std::pair<int, Revision>> told;
  graph.set(in, 1, 2).value();
  auto subscription = graph.subscribe(half, 1, [&](const Result<int>& value, Revision revision) {
    told.emplace_back(value.value(), revision);
  });
  EXPECT_THAT(told, IsEmpty());
  graph.set(in, 1, 3).value();
  EXPECT_THAT(told, IsEmpty());
  graph.set(in, 1, 4).value();
  graph.set(in, 1, 5).value();
  graph.set(in, 1, 6).value();
  EXPECT_THAT(told, ElementsAre(std::pair(2, 3), std::pair(3, 5)));
  subscription = {};
  graph.set(in, 1, 8).value();
  EXPECT_EQ(told.size(), 2u);
  EXPECT_EQ(graph.check(), "");
}

TEST(Graph, IsSafeToUseInsideACallback) {  // 22
  Graph graph;
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c, int n) { return c.get(in, n); });
  Log log;
  graph.batch().set(in, 1, 1).set(in, 2, 1).commit().value();
  GraphSubscription other;
  GraphSubscription first;
  first =
      graph
          .subscribe(f, 1,
                     [&](const Result<int>& value, Revision revision) {
                       log.push_back("first " + std::to_string(*value) + " in " + std::to_string(revision));
                       EXPECT_EQ(graph.get(f, 1).value(), *value);
                       if (*value == 2) {
                         other = graph
                                     .subscribe(f, 2,
                                                [&](const Result<int>& v, Revision r) {
                                                  log.push_back("other " + std::to_string(*v) + " in " +
                                                                std::to_string(r));
                                                })
                                     .value();
                         graph.batch().set(in, 1, 3).set(in, 2, 3).commit().value();
                         log.push_back("first still 2");
                       }
                       if (*value == 3) first = {};
                     })
          .value();
  graph.set(in, 1, 2).value();
  ASSERT_EQ(log.size(), 4u);
  EXPECT_EQ(log[0], "first 2 in 2");
  EXPECT_EQ(log[1], "first still 2") << "a callback is not called inside of a callback";
  EXPECT_THAT(log, UnorderedElementsAre(log[0], log[1], "first 3 in 3", "other 3 in 3"));
  graph.set(in, 1, 9).value();
  EXPECT_EQ(log.size(), 4u);
  EXPECT_EQ(graph.check(), "");
}

TEST(Graph, RefusesToBeChangedOrAskedFromInsideAFunction) {  // 30
  Graph graph;
  auto in = graph.input<int, int>("in");
  Code set_code{};
  Code get_code{};
  auto f = graph.function("f", [&](Context& c) {
    set_code = graph.set(in, 1, 5).error().code;
    get_code = graph.get(in, 1).error().code;
    return c.get(in, 1);
  });
  graph.set(in, 1, 1).value();
  EXPECT_EQ(graph.get(f).value(), 1);
  EXPECT_EQ(set_code, Code::would_deadlock);
  EXPECT_EQ(get_code, Code::would_deadlock);
  EXPECT_EQ(graph.get(in, 1).value(), 1) << "outside it is a plain read";
}

TEST(Graph, RunsVolatileFunctionsEachRevisionAndCutsOff) {  // 31
  for (const bool is_live : {false, true}) {
    Graph graph;
    Ran ran;
    int minute = 1;
    auto in = graph.input<int, int>("in");
    auto now = graph.function("now", [&](Context& c) {
      ran("now");
      c.run_again_each_revision();
      return minute;
    });
    auto f = graph.function("f", [&](Context& c) {
      ran("f");
      return c.get(now) + 1;
    });
    Want want;
    if (is_live) want = graph.want(f, {}).value();
    EXPECT_EQ(graph.get(f).value(), 2);
    EXPECT_EQ(graph.get(f).value(), 2);
    ran.take();
    graph.set(in, 1, 1).value();
    EXPECT_EQ(graph.get(f).value(), 2);
    EXPECT_THAT(ran.take(), ElementsAre("now"));
    minute = 5;
    EXPECT_EQ(graph.get(f).value(), 2);
    graph.advance().value();
    EXPECT_EQ(graph.get(f).value(), 6);
    EXPECT_THAT(ran.take(), ElementsAre("now", "f"));
    EXPECT_EQ(graph.check(), "");
  }
}

TEST(Graph, MakesABatchOneRevision) {  // 32
  Graph graph;
  auto in = graph.input<int, int>("in");
  std::vector<int> sums;
  auto sum = graph.function("sum", [&](Context& c) {
    sums.push_back(c.get(in, 1) + c.get(in, 2));
    return sums.back();
  });
  graph.batch().set(in, 1, 1).set(in, 2, 9).commit().value();
  auto want = graph.want(sum, {}).value();
  EXPECT_EQ(graph.revision(), 1u);
  graph.batch().set(in, 1, 2).set(in, 2, 8).commit().value();
  graph.batch().set(in, 1, 5).set(in, 2, 6).commit().value();
  EXPECT_EQ(graph.revision(), 3u);
  EXPECT_THAT(sums, ElementsAre(10, 10, 11));
  {
    auto dropped = graph.batch();
    dropped.set(in, 1, 100);
  }
  EXPECT_EQ(graph.get(in, 1).value(), 5);
}

struct Awkward {
  int id;
  friend bool operator==(const Awkward& a, const Awkward& b) { return a.id == b.id; }
  std::string padding = "does not fit into a word";
};

}  // namespace
}  // namespace larder

// All keys collide.
template <>
struct std::hash<larder::Awkward> {
  std::size_t operator()(const larder::Awkward&) const { return 7; }
};

namespace larder {
namespace {

TEST(Graph, TellsCollidingKeysApart) {  // 29
  Graph graph;
  auto in = graph.input<Awkward, int>("in");
  auto f = graph.function("f", [&](Context& c, const Awkward& key) { return c.get(in, key) * 2; });
  for (int i = 0; i < 300; ++i) graph.set(in, {i}, i).value();
  for (int i = 0; i < 300; ++i) EXPECT_EQ(graph.get(f, {i}).value(), 2 * i);
  EXPECT_EQ(graph.check(), "");
}

struct NeverEqual {
  double value = 0;
  std::string text{};
  friend bool operator==(const NeverEqual&, const NeverEqual&) { return false; }
};

TEST(Graph, RunsConsumersOfValuesThatAreNeverEqual) {  // 29
  Graph graph;
  auto in = graph.input<int, int>("in");
  auto f = graph.function("f", [&](Context& c) { return NeverEqual{1.0 * c.get(in, 1), {}}; });
  auto g = graph.function("g", [&](Context& c) { return c.get(f).value; });
  graph.set(in, 1, 1).value();
  EXPECT_EQ(graph.get(g).value(), 1);
  graph.set(in, 1, 2).value();
  EXPECT_EQ(graph.get(g).value(), 2);
}

TEST(Graph, ComparesNumbersByTheirBits) {
  Graph graph;
  Ran ran;
  auto in = graph.input<int, double>("in");
  auto sign = graph.function("sign", [&](Context& c) {
    ran("sign");
    return std::signbit(c.get(in, 1)) ? -1 : 1;
  });
  graph.set(in, 1, 0.0).value();
  EXPECT_EQ(graph.get(sign).value(), 1);
  graph.set(in, 1, -0.0).value();
  EXPECT_EQ(graph.get(sign).value(), -1);
  graph.set(in, 1, std::nan("")).value();
  graph.get(sign).value();
  ran.take();
  graph.set(in, 1, std::nan("")).value();
  graph.get(sign).value();
  EXPECT_THAT(ran.take(), IsEmpty());
}

}  // namespace
}  // namespace larder
