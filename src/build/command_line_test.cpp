#include "build/command_line.hpp"

#include <gtest/gtest.h>

namespace larder::build {
namespace {

using Words = std::vector<std::string>;
using Views = std::vector<std::string_view>;

TEST(CommandLine, NeedsNoShellForWordsAndQuotes) {
  EXPECT_EQ(plain_words("cc -c a.c -o a.o"), (Words{"cc", "-c", "a.c", "-o", "a.o"}));
  EXPECT_EQ(plain_words("cc -DX=\\\"y\\\" 'a b' \"c\\\"d\" -D'E F'"),
            (Words{"cc", "-DX=\"y\"", "a b", "c\"d", "-DE F"}));
  EXPECT_EQ(plain_words(": && cc a.o -o a && :"), (Words{"cc", "a.o", "-o", "a"}));
  EXPECT_EQ(plain_words("cc ''"), (Words{"cc", ""}));
}

TEST(CommandLine, NeedsAShellForAllElse) {
  for (const char* command :
       {"a | b", "a && b",   "a; b", "a > b", "a $X", "a `b`", "a *.c", "a [b]", "X=1 a", "cd a",   "echo a",
        "~/a",   "a \"$X\"", "a 'b", "a \\",  "# a",  "",      "a ~/b", "(a)",   "a\nb",  "exit 1", "a?b"})
    EXPECT_FALSE(plain_words(command)) << command;
}

TEST(CommandLine, FindsTheProgramsThatItStarts) {
  EXPECT_EQ(programs("cd /x && /usr/bin/cmake -E touch a | sort 2>&1; X=1 tool b"),
            (Views{"/usr/bin/cmake", "sort", "tool"}));
  EXPECT_EQ(programs(": && cc a && :"), (Views{"cc"}));
  EXPECT_EQ(programs("if test -f a; then gen 'x; y'; fi"), (Views{"gen"}));
  EXPECT_EQ(programs("a \"b c\" && a"), (Views{"a"}));
}

TEST(CommandLine, FindsTheVariablesThatItNames) {
  EXPECT_EQ(variables("a $X ${Y_2}z $$ $1 \"$Z\""), (Views{"X", "Y_2", "Z"}));
}

TEST(CommandLine, KnowsToolsOfNinja) {
  EXPECT_TRUE(is_tool_of_ninja("/usr/bin/ninja  -t clean "));
  EXPECT_TRUE(is_tool_of_ninja("/usr/bin/ninja -f build-Debug.ninja -t targets"));
  EXPECT_TRUE(is_tool_of_ninja("ninja-build -t clean"));
  EXPECT_FALSE(is_tool_of_ninja("ninja -C sub all"));
  EXPECT_FALSE(is_tool_of_ninja("echo ninja -t clean"));
  EXPECT_FALSE(is_tool_of_ninja("ninja -t clean > log"));
  EXPECT_FALSE(is_tool_of_ninja(""));
}

using Calls = std::vector<std::vector<std::string>>;

TEST(SimpleCommands, AreTheWordsOfEach) {
  EXPECT_EQ(*simple_commands("rm -f a && ar qc a 'b c' && :"),
            (Calls{{"rm", "-f", "a"}, {"ar", "qc", "a", "b c"}, {":"}}));
  EXPECT_EQ(*simple_commands("cd x;cp a b 2>&1 >log <in 2>>err || echo a\\ b;"),
            (Calls{{"cd", "x"}, {"cp", "a", "b"}, {"echo", "a b"}}));
}

TEST(SimpleCommands, AreNoneWithMoreOfAShell) {
  for (const char* command :
       {"",    "a | b",  "a & b", "a $x", "a \"$x\"", "a `b`", "(a)",  "x=1 a", "a *",    "a <<b",
        "a >", "a ;; b", "&& a",  "# a",  "a ~",      "a\nb",  "a 'b", "a >$x", "a 2>&-", "a\\"})
    EXPECT_FALSE(simple_commands(command)) << command;
}

}  // namespace
}  // namespace larder::build
