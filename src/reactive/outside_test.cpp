// Files, folders, variables and translations as dependencies.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "larder/graph.hpp"

namespace larder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GraphOutside : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "larder-graph-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + "/" + name; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
  }
  // As if it had been written an hour ago, so that its times can be trusted.
  void age(const std::string& name) const {
    timespec times[2];
    ASSERT_EQ(::clock_gettime(CLOCK_REALTIME, &times[0]), 0);
    times[0].tv_sec -= 3600;
    times[1] = times[0];
    ASSERT_EQ(::utimensat(AT_FDCWD, path(name).c_str(), times, 0), 0);
  }
  std::vector<std::string> take() {
    std::vector<std::string> taken;
    taken.swap(ran_);
    return taken;
  }

  std::string root_;
  std::vector<std::string> ran_;
};

TEST_F(GraphOutside, AFileIsADependency) {
  Graph graph;
  write("a", "one\ntwo");
  auto lines = graph.function("lines", [&](Context& c, const std::string& name) {
    ran_.push_back("lines");
    const std::string& text = c.file(name);
    return std::count(text.begin(), text.end(), '\n');
  });
  std::vector<long> told;
  auto subscription =
      graph.subscribe(lines, path("a"), [&](const Result<long>& v, Revision) { told.push_back(*v); });
  EXPECT_THAT(take(), ElementsAre("lines"));
  write("a", "uno\ndue");
  graph.refresh().value();
  EXPECT_THAT(take(), ElementsAre("lines")) << "same size, young, another content";
  EXPECT_THAT(told, IsEmpty());
  write("a", "uno\ndue\ntre");
  graph.refresh().value();
  EXPECT_THAT(told, ElementsAre(2));
  take();
  age("a");
  graph.refresh().value();
  EXPECT_THAT(take(), IsEmpty()) << "touched only";
  EXPECT_EQ(graph.check(), "");
}

TEST_F(GraphOutside, AMissingFileIsAnErrorUntilItAppears) {
  Graph graph;
  auto upper = graph.translation("first", [](const std::string& text) { return text.substr(0, 1); });
  const auto missing = graph.get(upper, path("a"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::not_found);
  EXPECT_THAT(missing.error().what, HasSubstr("open " + path("a")));
  write("a", "xyz");
  EXPECT_FALSE(graph.get(upper, path("a"))) << "nobody looked again yet";
  graph.refresh({path("a")}).value();
  EXPECT_EQ(graph.get(upper, path("a")).value(), "x");
  std::filesystem::remove(path("a"));
  graph.refresh().value();
  EXPECT_FALSE(graph.get(upper, path("a")));
}

TEST_F(GraphOutside, ATranslationMayFailAndIsCutOff) {
  Graph graph;
  write("n", "12");
  auto number = graph.translation("number", [&](const std::string& text) -> Result<int> {
    ran_.push_back("number");
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (end == text.c_str()) return fail(Code::invalid_argument, "no number");
    return static_cast<int>(value);
  });
  auto twice = graph.function("twice", [&](Context& c, const std::string& name) {
    ran_.push_back("twice");
    return 2 * c.get(number, name);
  });
  EXPECT_EQ(graph.get(twice, path("n")).value(), 24);
  take();
  write("n", "12 and a remark");
  graph.refresh().value();
  EXPECT_EQ(graph.get(twice, path("n")).value(), 24);
  EXPECT_THAT(take(), ElementsAre("number"));
  write("n", "none");
  graph.refresh().value();
  EXPECT_EQ(graph.get(twice, path("n")).error().what, "no number");
}

TEST_F(GraphOutside, AFolderIsADependencyOfItsNames) {
  Graph graph;
  write("b", "");
  write("a", "");
  auto names = graph.function("names", [&](Context& c) {
    ran_.push_back("names");
    return c.folder(root_);
  });
  EXPECT_THAT(graph.get(names).value(), ElementsAre("a", "b"));
  take();
  write("a", "content is not its business");
  graph.refresh().value();
  EXPECT_THAT(graph.get(names).value(), ElementsAre("a", "b"));
  EXPECT_THAT(take(), IsEmpty());
  write("c", "");
  graph.refresh().value();
  EXPECT_THAT(graph.get(names).value(), ElementsAre("a", "b", "c"));
}

TEST_F(GraphOutside, AVariableIsADependency) {
  Graph graph;
  ::unsetenv("LARDER_TEST_GRAPH");
  auto shown = graph.function("shown", [&](Context& c) {
    ran_.push_back("shown");
    return c.env("LARDER_TEST_GRAPH").value_or("(unset)");
  });
  EXPECT_EQ(graph.get(shown).value(), "(unset)");
  take();
  const Revision before = graph.revision();
  EXPECT_EQ(graph.refresh().value(), before);
  ::setenv("LARDER_TEST_GRAPH", "on", 1);
  EXPECT_EQ(graph.refresh().value(), before + 1);
  EXPECT_EQ(graph.get(shown).value(), "on");
  EXPECT_THAT(take(), ElementsAre("shown"));
  ::unsetenv("LARDER_TEST_GRAPH");
}

TEST_F(GraphOutside, AnEvictedFileThatChangedMeanwhileIsNotReported) {
  std::vector<std::string> reports;
  Graph graph({.lines_max = 1, .report = [&](const std::string& what) { reports.push_back(what); }});
  write("a", "one");
  auto size = graph.function("size", [&](Context& c) { return c.file(path("a")).size(); });
  auto text = graph.function("text", [&](Context& c) { return c.file(path("a")); });
  EXPECT_EQ(graph.get(size).value(), 3u);
  write("a", "three");
  EXPECT_EQ(graph.get(text).value(), "three") << "its line was taken, so it is read anew";
  EXPECT_EQ(graph.get(size).value(), 5u) << "and whoever had read it before hears of it";
  EXPECT_THAT(reports, IsEmpty());
  EXPECT_EQ(graph.check(), "");
}

TEST_F(GraphOutside, NoFunctionSeesTwoContentsOfOneFile) {
  for (const bool reads_on : {false, true}) {
    Graph graph({.lines_max = 1});
    write("a", "one");
    bool is_changed = false;
    auto other = graph.function("other", [&](Context&, int n) { return std::to_string(n); });
    auto part = graph.function("part", [&](Context& c) { return c.file(path("a")); });
    auto whole = graph.function("whole", [&](Context& c) {
      const std::string before = c.file(path("a"));
      c.get(other, 1);
      if (!std::exchange(is_changed, true)) write("a", "three");
      const std::string after = c.get(part);
      if (reads_on) c.get(other, 2);
      return before + " " + after;
    });
    const Revision revision = graph.revision();
    EXPECT_EQ(graph.get(whole).value(), "three three");
    EXPECT_EQ(graph.revision(), revision + 1) << "the new content is a revision of its own";
    EXPECT_EQ(graph.get(part).value(), "three");
    EXPECT_EQ(graph.check(), "");
  }
}

TEST_F(GraphOutside, SubscribersHearOfWhatWasFoundToDifferDuringAPush) {
  Graph graph({.lines_max = 1});
  write("a", "one");
  auto in = graph.input<NoKey, int>("in");
  auto size = graph.function("size", [&](Context& c) { return c.file(path("a")).size(); });
  auto text =
      graph.function("text", [&](Context& c) { return c.get(in) == 1 ? std::string() : c.file(path("a")); });
  graph.set(in, {}, 1).value();
  std::vector<std::size_t> sizes;
  std::vector<std::string> texts;
  auto first =
      graph.subscribe(size, {}, [&](const Result<std::size_t>& v, Revision) { sizes.push_back(*v); }).value();
  auto second =
      graph.subscribe(text, {}, [&](const Result<std::string>& v, Revision) { texts.push_back(*v); }).value();
  write("a", "three");
  graph.set(in, {}, 2).value();
  EXPECT_THAT(sizes, ElementsAre(5));
  EXPECT_THAT(texts, ElementsAre("three"));
  EXPECT_EQ(graph.check(), "");
}

TEST_F(GraphOutside, AFolderAndAVariableThatWereEvictedAreTornToo) {
  Graph graph({.lines_max = 1});
  ::setenv("LARDER_TEST_GRAPH", "1", 1);
  write("a", "");
  auto names = graph.function("names", [&](Context& c) { return c.folder(root_).size(); });
  auto shown = graph.function("shown", [&](Context& c) { return c.env("LARDER_TEST_GRAPH").value_or("-"); });
  auto again = graph.function("again", [&](Context& c) {
    return std::to_string(c.folder(root_).size()) + c.env("LARDER_TEST_GRAPH").value_or("-");
  });
  EXPECT_EQ(graph.get(names).value(), 1u);
  EXPECT_EQ(graph.get(shown).value(), "1");
  write("b", "");
  ::setenv("LARDER_TEST_GRAPH", "2", 1);
  EXPECT_EQ(graph.get(again).value(), "22");
  EXPECT_EQ(graph.get(names).value(), 2u);
  EXPECT_EQ(graph.get(shown).value(), "2");
  ::unsetenv("LARDER_TEST_GRAPH");
}

}  // namespace
}  // namespace larder
