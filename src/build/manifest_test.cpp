#include "build/manifest.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>

namespace larder::build {
namespace {

class ManifestTest : public testing::Test {
 protected:
  bool read(const std::string& text) {
    files["build.ninja"] = text;
    auto result = read_manifest("build.ninja", [this](const std::string& path) -> Result<std::string> {
      const auto found = files.find(path);
      if (found == files.end()) return fail(Code::not_found, "open " + path);
      return found->second;
    });
    if (!result) {
      error = result.error().what;
      return false;
    }
    manifest = std::move(*result);
    return true;
  }
  StepId step(const std::string& output) const { return manifest->producer(manifest->find(output)); }
  std::string command(const std::string& output) const { return manifest->value(step(output), "command"); }
  std::string paths(std::span<const TargetId> targets) const {
    std::string all;
    for (const TargetId target : targets)
      all += (all.empty() ? "" : " ") + std::string(manifest->path(target));
    return all;
  }

  std::map<std::string, std::string> files;
  std::unique_ptr<Manifest> manifest;
  std::string error;
};

using BuildManifest = ManifestTest;

TEST_F(BuildManifest, ExpandsVariablesOfStepRuleAndFile) {
  ASSERT_TRUE(
      read("flags = -O2\nrule cc\n  command = cc $flags $more $in -o $out\nflags = -O3\n"
           "build a.o: cc a.c\n  more = -g\nbuild b.o: cc b.c\n  flags = -O0\n"));
  EXPECT_EQ(command("a.o"), "cc -O3 -g a.c -o a.o");
  EXPECT_EQ(command("b.o"), "cc -O0  b.c -o b.o");
}

// Each name many times in the one before: looked at once each, not once for each of the ways to it.
TEST_F(BuildManifest, LooksAtEachVariableOfARuleOnceForRings) {
  const std::array<std::string, 8> names = {"command",         "description", "depfile", "deps",
                                            "rspfile_content", "rspfile",     "pool",    "dyndep"};
  std::string rule = "rule r\n";
  for (std::size_t i = 0; i + 1 < names.size(); ++i) {
    rule += "  " + names[i] + " =";
    for (int again = 0; again < 100; ++again) rule += " $" + names[i + 1];
    rule += '\n';
  }
  EXPECT_FALSE(read(rule + "  dyndep = $pool\n"));
  EXPECT_NE(error.find("is made from itself"), std::string::npos) << error;
}

TEST_F(BuildManifest, TellsKindsOfInputsAndOutputsApart) {
  ASSERT_TRUE(
      read("rule r\n  command = x $in $out\nbuild o1 o2 | o3: r i1 i2 | i3 || i4 |@ v\nbuild v: r z\n"));
  const StepId s = step("o1");
  EXPECT_EQ(paths(manifest->outputs(s)), "o1 o2 o3");
  EXPECT_EQ(paths(manifest->explicit_outputs(s)), "o1 o2");
  EXPECT_EQ(paths(manifest->explicit_inputs(s)), "i1 i2");
  EXPECT_EQ(paths(manifest->inputs(s)), "i1 i2 i3");
  EXPECT_EQ(paths(manifest->order_only(s)), "i4");
  EXPECT_EQ(paths(manifest->validations(s)), "v");
  EXPECT_EQ(command("o1"), "x i1 i2 o1 o2");
}

TEST_F(BuildManifest, ReadsEscapesAndJoinedLines) {
  ASSERT_TRUE(read("rule r\n  command = a $$x $\n      b\nbuild a$ b$:c: r in $\n   more an$\n  other\n"));
  EXPECT_EQ(command("a b:c"), "a $x b");
  EXPECT_EQ(paths(manifest->inputs(step("a b:c"))), "in more another");
}

TEST_F(BuildManifest, QuotesPathsForTheShellOnly) {
  ASSERT_TRUE(read("rule r\n  command = x $in\n  depfile = $out.d\nbuild o$ o: r it's\n"));
  EXPECT_EQ(command("o o"), "x 'it'\\''s'");
  EXPECT_EQ(manifest->plain_value(step("o o"), "depfile"), "o o.d");
}

TEST_F(BuildManifest, TakesSpellingsOfOnePathForOneTarget) {
  ASSERT_TRUE(read("rule r\n  command = x\nbuild ./a//b/../c: r d/.\n"));
  EXPECT_NE(manifest->find("a/c"), kNone);
  EXPECT_EQ(manifest->find("a/./c"), manifest->find("a/c"));
  EXPECT_EQ(paths(manifest->inputs(step("a/c"))), "d");
}

TEST_F(BuildManifest, GivesSubninjaAScopeOfItsOwnAndIncludeNone) {
  files["sub"] = "v = inner\nrule s\n  command = s $v\nbuild sub.o: s\n";
  files["inc"] = "w = included\n";
  ASSERT_TRUE(read("v = outer\nsubninja sub\ninclude inc\nrule r\n  command = r $v $w\nbuild o: r\n"));
  EXPECT_EQ(command("sub.o"), "s inner");
  EXPECT_EQ(command("o"), "r outer included");
}

TEST_F(BuildManifest, ReadsPoolsDefaultsAndConsole) {
  ASSERT_TRUE(
      read("pool heavy\n  depth = 2\nrule r\n  command = x\n  pool = heavy\nbuild a: r\nbuild b: r\n  pool = "
           "console\ndefault a\n"));
  EXPECT_EQ(manifest->pools()[manifest->step(step("a")).pool].depth, 2u);
  EXPECT_EQ(manifest->step(step("b")).pool, kConsolePool);
  EXPECT_EQ(paths(manifest->defaults()), "a");
}

TEST_F(BuildManifest, DropsAnAliasOfItself) {
  ASSERT_TRUE(read("build a: phony a b\n"));
  EXPECT_EQ(paths(manifest->inputs(step("a"))), "b");
}

TEST_F(BuildManifest, NamesFileLineTextCaretAndWhatWasExpected) {
  EXPECT_FALSE(read("rule r\n  command = x\n\nbuild foo bar\n"));
  EXPECT_EQ(error, "build.ninja:4:14: expected `:` after the outputs\nbuild foo bar\n             ^");
  files["sub"] = "rule\n";
  EXPECT_FALSE(read("subninja sub\n"));
  EXPECT_EQ(error.substr(0, 6), "sub:1:");
}

TEST_F(BuildManifest, RefusesWhatCannotBeMeant) {
  for (const char* text : {"rule r\n",
                           "rule r\n  command = x\nrule r\n  command = y\n",
                           "build a: nope\n",
                           "rule r\n  command = x\nbuild a: r\nbuild a: r\n",
                           "rule r\n  command = x\nbuild a a: r\n",
                           "x\n",
                           "x = $\t\n",
                           "rule r\n\tcommand = x\n",
                           "  x = 1\n",
                           "pool p\n",
                           "pool p\n  depth = -1\n",
                           "default\n",
                           "default nothing\n",
                           "include missing\n",
                           "subninja build.ninja\n",
                           "rule r\n  command = $depfile\n  depfile = $command\n",
                           "rule r\n  command = x\n  colour = red\n",
                           "rule r\n  command = x\n  rspfile = y\n",
                           "rule r\n  command = x\nbuild a: r\n  pool = none\n",
                           "rule r\n  command = x\nbuild a: r\n  dyndep = d\n",
                           "ninja_required_version = 99.1\n",
                           "rule r\n  command = x\nbuild a: r || b | c\n",
                           "build : phony\n",
                           "rule r\n  command = x\nbuild $nothing: r\n",
                           "a = b\rc\n"}) {
    EXPECT_FALSE(read(text)) << text;
    EXPECT_NE(error.find('^'), std::string::npos) << text << " -> " << error;
  }
}

TEST_F(BuildManifest, EndsWithManifestsThatGrowWithoutEnd) {
  files["other"] = "include build.ninja\ninclude build.ninja\n";
  EXPECT_FALSE(read("include other\ninclude other\n"));
  EXPECT_NE(error.find("include itself without end"), std::string::npos) << error;

  std::string doubled = "a = 12345678\n";
  for (int i = 0; i < 60; ++i) doubled += "a = $a$a\n";
  EXPECT_FALSE(read(doubled));
  EXPECT_NE(error.find("times its text"), std::string::npos) << error;

  const auto ten = [](const std::string& of) {
    std::string value;
    for (int i = 0; i < 10; ++i) value += '$' + of;
    return value;
  };
  EXPECT_FALSE(read("rule r\n  command = " + ten("depfile") + "\n  depfile = " + ten("deps") +
                    "\n  deps = " + ten("description") + "\n  description = " + ten("dyndep") +
                    "\n  dyndep = " + ten("restat") + "\n  restat = " + ten("generator") +
                    "\n  generator = " + ten("x") + "\n"));
  EXPECT_NE(error.find("name each other more than"), std::string::npos) << error;
}

TEST_F(BuildManifest, CutsValuesThatAreTooLong) {
  std::string text = "a = " + std::string(std::size_t{1} << 20, 'x') + "\nrule r\n  command = ";
  for (int i = 0; i < 65; ++i) text += "$a";
  ASSERT_TRUE(read(text + "\nbuild o: r\n")) << error;
  EXPECT_EQ(command("o").size(), kValueMax + 1);
}

TEST_F(BuildManifest, BearsWindowsLineEndsAndComments) {
  ASSERT_TRUE(read("# first\r\nrule r\r\n  # inside\r\n  command = x\r\n\r\nbuild a: r b\r\n"));
  EXPECT_EQ(command("a"), "x");
}

TEST_F(BuildManifest, TakesWhatADyndepFileAdds) {
  ASSERT_TRUE(read("rule r\n  command = x $in\nbuild a: r b || dd\n  dyndep = dd\n"));
  const TargetId in = manifest->target("more");
  const TargetId out = manifest->target("made");
  ASSERT_TRUE(manifest->add_dyndep(step("a"), std::span(&in, 1), std::span(&out, 1)));
  EXPECT_EQ(paths(manifest->inputs(step("a"))), "b more");
  EXPECT_EQ(paths(manifest->order_only(step("a"))), "dd");
  EXPECT_EQ(paths(manifest->explicit_outputs(step("a"))), "a");
  EXPECT_EQ(step("made"), step("a"));
  EXPECT_EQ(command("a"), "x b");
}

TEST(BuildPaths, AreMadeCanonical) {
  const std::map<std::string, std::string> cases = {
      {"a", "a"},       {"./a", "a"},  {"a/./b", "a/b"},     {"a//b", "a/b"},        {"a/../b", "b"},
      {"../a", "../a"}, {"a/..", "."}, {"/a/../../b", "/b"}, {"../../a", "../../a"}, {"a/b/", "a/b"},
      {".", "."},       {"/", "/"},    {"../a/..", ".."},    {"a/.b", "a/.b"},       {"a/..b", "a/..b"}};
  for (const auto& [given, wanted] : cases) {
    std::string path = given;
    make_canonical(path);
    EXPECT_EQ(path, wanted) << given;
    EXPECT_TRUE(is_canonical(path)) << path;
    EXPECT_EQ(is_canonical(given), given == wanted) << given;
  }
}

TEST(BuildPaths, AreNumberedInTheOrderOfTheirComing) {
  PathTable table;
  for (std::uint32_t i = 0; i < 50000; ++i) ASSERT_EQ(table.number("path/" + std::to_string(i)), i);
  for (std::uint32_t i = 0; i < 50000; ++i) {
    const std::string path = "path/" + std::to_string(i);
    ASSERT_EQ(table.find(path), i);
    ASSERT_EQ(table[i], path);
    ASSERT_EQ(table[i].data()[path.size()], '\0');
  }
  EXPECT_EQ(table.find("path/50000"), kNone);
}

TEST(BuildPaths, AreHeldWhateverTheirLength) {
  PathTable table;
  std::vector<std::string> paths = {""};
  for (const std::size_t size : {1, 253, 254, 255, 256, 4096, 262'000, 262'142, 262'144, 262'145, 1'000'000})
    for (const char fill : {'a', 'b'}) paths.emplace_back(size, fill);
  for (std::uint32_t i = 0; i < paths.size(); ++i) ASSERT_EQ(table.number(paths[i]), i);
  for (std::uint32_t i = 0; i < paths.size(); ++i) {
    EXPECT_EQ(table[i], paths[i]) << paths[i].size();
    EXPECT_EQ(table.number(paths[i]), i);
  }
}

}  // namespace
}  // namespace larder::build
