// A graph saved and loaded: scenario 33.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "cache/testing.hpp"
#include "larder/cache.hpp"
#include "larder/graph.hpp"

namespace larder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// The program that is run again and again, with other versions of its functions.
struct Program {
  explicit Program(GraphOptions options = {}, const std::string& low_version = "1")
      : graph(std::move(options)) {
    in = graph.input<int, std::string>("in");
    low = graph.function(
        "low",
        [this](Context& c, int n) {
          ran.push_back("low" + std::to_string(n));
          return c.get(*in, n).substr(0, 1);
        },
        low_version);
    big = graph.function("big", [this](Context& c, const std::string& name) {
      ran.push_back("big");
      return c.get(*low, 1) + c.get(*low, 2) + std::string(1000, 'x') + name;
    });
    size = graph.function("size", [this](Context& c) -> Result<std::uint64_t> {
      ran.push_back("size");
      if (c.get(*in, 3).empty()) return fail(Code::invalid_argument, "three is empty");
      return c.get(*big, "name").size();
    });
  }
  void set(const std::string& one, const std::string& two, const std::string& three) {
    graph.batch().set(*in, 1, one).set(*in, 2, two).set(*in, 3, three).commit().value();
  }
  std::vector<std::string> take() { return std::exchange(ran, {}); }

  std::vector<std::string> ran;
  Graph graph;
  std::optional<Input<int, std::string>> in;
  std::optional<Function<int, std::string>> low;
  std::optional<Function<std::string, std::string>> big;
  std::optional<Function<NoKey, std::uint64_t>> size;
};

std::string saved_program() {
  Program first;
  first.set("a1", "b1", "c");
  EXPECT_EQ(first.graph.get(*first.size).value(), 1006u);
  return first.graph.save().value();
}

BytesView view(const std::string& text) {
  return as_bytes(std::string_view(text));
}

TEST(GraphSnapshot, BringsEverythingBackWithoutARun) {
  const std::string snapshot = saved_program();
  Program next;
  EXPECT_EQ(next.graph.load(view(snapshot)).value(), 7u);
  EXPECT_EQ(next.graph.check(), "");
  EXPECT_EQ(next.graph.revision(), 1u);
  next.set("a1", "b1", "c");
  EXPECT_EQ(next.graph.get(*next.size).value(), 1006u);
  EXPECT_EQ(next.graph.get(*next.big, "name").value().substr(0, 2), "ab");
  EXPECT_THAT(next.take(), IsEmpty());
  EXPECT_EQ(next.graph.revision(), 1u);
  EXPECT_EQ(next.graph.save().value(), snapshot) << "what is saved again is the same";
}

TEST(GraphSnapshot, SeesWhatChangedWhileTheProgramWasDown) {
  Program next;
  next.graph.load(view(saved_program())).value();
  next.set("a1", "b2", "c");
  EXPECT_EQ(next.graph.get(*next.size).value(), 1006u);
  EXPECT_THAT(next.take(), ElementsAre("low2")) << "and it was cut off there";
  next.set("z", "b2", "c");
  EXPECT_EQ(next.graph.get(*next.big, "name").value().substr(0, 2), "zb");
  EXPECT_THAT(next.take(), ElementsAre("low1", "big"));
  EXPECT_EQ(next.graph.check(), "");
}

TEST(GraphSnapshot, AnotherVersionOfAFunctionMakesThatOneAnew) {
  Program next({}, "2");
  next.graph.load(view(saved_program())).value();
  EXPECT_EQ(next.graph.get(*next.size).value(), 1006u);
  EXPECT_THAT(next.take(), UnorderedElementsAre("low1", "low2"))
      << "its consumers are cut off: it made the same";
  EXPECT_EQ(next.graph.check(), "");
}

TEST(GraphSnapshot, KeepsErrorsAndDropsWhatIsNotDeclaredAnyMore) {
  Program first;
  first.set("a", "b", "");
  EXPECT_FALSE(first.graph.get(*first.size));
  first.graph.get(*first.big, "name").value();
  const std::string snapshot = first.graph.save().value();
  Program next;
  next.graph.load(view(snapshot)).value();
  EXPECT_EQ(next.graph.get(*next.size).error().what, "three is empty");
  EXPECT_THAT(next.take(), IsEmpty());
  Graph other;
  auto in = other.input<int, std::string>("in");
  auto big = other.function("big", [&](Context& c, const std::string&) { return c.get(in, 1); });
  auto size = other.function("size", [&](Context&, int) { return 1; });
  EXPECT_EQ(other.load(view(snapshot)).value(), 4u) << "three inputs and big; low is gone, size is another";
  EXPECT_EQ(other.get(big, "name").value(), "a") << "made anew: what it depended on is gone";
  EXPECT_EQ(other.get(size, 1).value(), 1);
  EXPECT_EQ(other.check(), "");
}

TEST(GraphSnapshot, IsAColdStartWhereverItIsCutOrDamaged) {
  const std::string snapshot = saved_program();
  for (std::size_t length = 0; length < snapshot.size(); ++length) {
    Program next;
    EXPECT_EQ(next.graph.load(view(snapshot.substr(0, length))).error().code, Code::damaged) << length;
    EXPECT_EQ(next.graph.stats().nodes, 0u);
  }
  for (std::size_t at = 0; at < snapshot.size(); ++at) {
    std::string flipped = snapshot;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    Program next;
    EXPECT_EQ(next.graph.load(view(flipped)).error().code, Code::damaged) << at;
  }
  Program next;
  EXPECT_FALSE(next.graph.load(view(snapshot + "x")));
  next.set("a", "b", "c");
  EXPECT_EQ(next.graph.get(*next.size).value(), 1006u) << "cold, and as good as new";
  EXPECT_EQ(next.graph.load(view(snapshot)).error().code, Code::invalid_argument) << "too late";
}

TEST(GraphSnapshot, LeavesLargeValuesToTheCache) {
  testing::ScratchDirectory scratch;
  std::string snapshot;
  {
    Cache cache = Cache::open(testing::options_in(scratch));
    Program first({.cache = &cache});
    first.set("a1", "b1", "c");
    first.graph.get(*first.size).value();
    snapshot = first.graph.save().value();
    EXPECT_THAT(snapshot, Not(HasSubstr(std::string(20, 'x'))));
  }
  Cache cache = Cache::open(testing::options_in(scratch));
  Program next({.cache = &cache});
  next.graph.load(view(snapshot)).value();
  EXPECT_EQ(next.graph.get(*next.big, "name").value().size(), 1006u);
  EXPECT_THAT(next.take(), IsEmpty());
  EXPECT_EQ(next.graph.stats().restored, 1u);
  Program without;
  without.graph.load(view(snapshot)).value();
  EXPECT_EQ(without.graph.get(*without.size).value(), 1006u);
  EXPECT_THAT(without.take(), IsEmpty()) << "the large value is not asked for";
  EXPECT_EQ(without.graph.get(*without.big, "name").value().size(), 1006u);
  EXPECT_THAT(without.take(), ElementsAre("big")) << "and made where it is";
  EXPECT_EQ(without.graph.check(), "");
}

TEST(GraphSnapshot, LooksAgainAtWhatLiesOutside) {
  const std::string path = (std::filesystem::temp_directory_path() / "larder-graph-snapshot").string();
  std::ofstream(path) << "one";
  std::vector<std::string> ran;
  const auto program = [&](Graph& graph) {
    return graph.translation("length", [&](const std::string& text) {
      ran.push_back("length");
      return text.size();
    });
  };
  std::string snapshot;
  {
    Graph graph;
    auto length = program(graph);
    EXPECT_EQ(graph.get(length, path).value(), 3u);
    snapshot = graph.save().value();
  }
  ran.clear();
  {
    Graph graph;
    auto length = program(graph);
    graph.load(view(snapshot)).value();
    EXPECT_EQ(graph.get(length, path).value(), 3u);
    EXPECT_THAT(ran, IsEmpty()) << "read again, and the same";
  }
  std::ofstream(path) << "three";
  {
    Graph graph;
    auto length = program(graph);
    graph.load(view(snapshot)).value();
    EXPECT_EQ(graph.get(length, path).value(), 5u);
    EXPECT_THAT(ran, ElementsAre("length"));
  }
  std::filesystem::remove(path);
}

struct Odd {
  std::vector<void*> pointers{};
  bool operator==(const Odd&) const = default;
};

TEST(GraphSnapshot, LeavesOutWhatCannotBeWrittenDown) {
  std::string snapshot;
  int runs = 0;
  const auto program = [&](Graph& graph) {
    auto in = graph.input<int, Odd>("odd");
    auto f = graph.function("f", [&runs, in](Context& c, int n) {
      ++runs;
      return c.try_get(in, n).value_or(Odd{}).pointers.size();
    });
    return std::pair(in, f);
  };
  {
    Graph graph;
    auto [in, f] = program(graph);
    graph.set(in, 1, Odd{{nullptr, nullptr}}).value();
    EXPECT_EQ(graph.get(f, 1).value(), 2u);
    snapshot = graph.save().value();
  }
  Graph graph;
  auto [in, f] = program(graph);
  graph.load(view(snapshot)).value();
  EXPECT_EQ(graph.get(f, 1).value(), 0u) << "made anew: what it had read is not known any more";
  EXPECT_EQ(graph.check(), "");
}

}  // namespace
}  // namespace larder
