// `larder cc` and `larder reuse-report` without a compiler; plugin/tests/cc_test.sh has those with one.
#include <fstream>

#include "reuse/profile_line.hpp"
#include "tool/child.hpp"
#include "tool/compiler.hpp"
#include "tool/tool_test_kit.hpp"

namespace larder::tool {
namespace {

class ReuseTool : public ToolTest {
 protected:
  ReuseTool() : path_(testing::TempDir() + "larder-reuse-" + std::to_string(getpid())) {}
  ~ReuseTool() override { std::remove(path_.c_str()); }
  void profile(const std::string& text) { std::ofstream(path_) << text; }
  std::string path_;
};

TEST_F(ReuseTool, ReportsTheMostSecondsToBeSavedFirstAndAddsRunsUp) {
  profile(
      "reuse1\t_Z5smalli\t1\t1000\t10\t0\t0\t0\t1000\t1000000\n"
      "reuse1\tlarge\t1\t1000\t10\t0\t0\t0\t1000\t1000000000\n"
      "reuse1\tlarge\t1\t1000\t10\t0\t0\t0\t1000\t1000000000\n"
      "reuse1\tnever\t1\t1000\t1000\t0\t0\t0\t1000\t9000000000\n");
  EXPECT_EQ(larder({"reuse-report", path_}), kDone);
  EXPECT_LT(out.find("large"), out.find("small(int)"));
  EXPECT_LT(out.find("small(int)"), out.find("never"));
  EXPECT_NE(out.find("1.990 s  2.000 s   2000    10  99.5 %  large"), std::string::npos) << out;
}

TEST_F(ReuseTool, ReportsAsJson) {
  profile("reuse1\tlarge\t1\t1000\t10\t0\t0\t0\t1000\t1000000000\n");
  EXPECT_EQ(larder({"reuse-report", path_, "--json"}), kDone);
  EXPECT_NE(out.find("\"name\":\"large\",\"calls\":1000,\"keys\":10"), std::string::npos) << out;
}

TEST_F(ReuseTool, NamesTheLineOfAProfileThatIsNone) {
  profile("reuse1\tlarge\t1\t1000\t10\t0\t0\t0\t1000\t1000000000\nreuse1\tlarge\t1\n");
  EXPECT_EQ(larder({"reuse-report", path_}), kError);
  EXPECT_NE(err.find(path_ + ":2"), std::string::npos) << err;
}

TEST_F(ReuseTool, SaysWhatToDoWithoutAProfile) {
  EXPECT_EQ(larder({"reuse-report", path_}), kError);
  EXPECT_NE(err.find("larder cc --profile-reuse"), std::string::npos) << err;
}

TEST_F(ReuseTool, TakesAFolderForNoProfile) {
  EXPECT_EQ(larder({"reuse-report", testing::TempDir()}), kError);
  EXPECT_NE(err.find("cannot read"), std::string::npos) << err;
}

TEST_F(ReuseTool, ReadsNoTypeIntoTheNameOfACFunction) {
  profile("reuse1\tf\t1\t1000\t10\t0\t0\t0\t1000\t1000000000\n");
  EXPECT_EQ(larder({"reuse-report", path_}), kDone);
  EXPECT_NE(out.find("%  f\n"), std::string::npos) << out;
}

TEST_F(ReuseTool, LeavesTheCompilersFlagsToTheCompiler) {
  EXPECT_EQ(larder({"cc", "--strategy", "lru_hash", "/nowhere/cc", "--json", "-O2", "--no-such-flag"}),
            kError);
  EXPECT_NE(err.find("larder cc cannot use /nowhere/cc"), std::string::npos) << err;
}

TEST_F(ReuseTool, RefusesItsOwnUnknownFlagsAndWords) {
  EXPECT_EQ(larder({"cc", "--strateg", "/nowhere/cc"}), kError);
  EXPECT_NE(err.find("did you mean"), std::string::npos) << err;
  EXPECT_EQ(larder({"cc"}), kError);
  EXPECT_EQ(larder({"cc", "--strategy", "random", "cc"}), kError);
  EXPECT_EQ(larder({"cc", "--deny", "a,b", "cc"}), kError);
  EXPECT_NE(err.find("comma"), std::string::npos) << err;
}

TEST_F(ReuseTool, KeepsCodeThatChangedApart) {
  profile(
      "reuse1\tsame\t1\t1000\t10\t0\t0\t0\t1000\t1000000000\n"
      "reuse1\tsame\t2\t1000\t1000\t0\t0\t0\t1000\t1000000000\n");
  EXPECT_EQ(larder({"reuse-report", path_}), kDone);
  EXPECT_NE(out.find("0.990 s  1.000 s   1000    10  99.0 %  same"), std::string::npos) << out;
  EXPECT_NE(out.find("0.000 s  1.000 s   1000  1000   0.0 %  same"), std::string::npos) << out;
}

TEST_F(ReuseTool, TakesNothingForALineButALine) {
  for (const char* const line : {"reuse2\tf\t1\t1\t1\t0\t0\t0\t1\t1", "reuse1\tf\t1\t-1\t1\t0\t0\t0\t1\t1",
                                 "reuse1\tf\t1\t1\t1\t0\t0\t0\t1\t1\t1", "reuse1\tf\t1 1 1 0 0 0 1 1 1\t",
                                 "reuse1\t\t1\t1\t1\t0\t0\t0\t1\t1", "reuse1\tf\t1\t1\t1\t0\t0\t0\t1\t1 ",
                                 "reuse1\tf\t1\t99999999999999999999\t1\t0\t0\t0\t1\t1", " "}) {
    profile(std::string(line) + '\n');
    EXPECT_EQ(larder({"reuse-report", path_}), kError) << line;
    EXPECT_NE(err.find(path_ + ":1 "), std::string::npos) << err;
  }
}

TEST(TableChoice, TakesTheQuickTableForCheapBodiesAndOneThatLosesNothingForExpensiveOnes) {
  reuse::ProfileLine line;
  line.calls = line.timed = 100000;
  line.keys = 300;
  line.nanoseconds = line.calls * 50;
  EXPECT_TRUE(reuse::choose_table(line, 2).pays);
  EXPECT_EQ(reuse::choose_table(line, 2).replacement, reuse::Replacement::adaptive);
  EXPECT_GE(reuse::choose_table(line, 2).log2_start, 9u);
  line.nanoseconds = line.calls * 50000;
  EXPECT_EQ(reuse::choose_table(line, 2).replacement, reuse::Replacement::lru_hash);
  EXPECT_GE(reuse::choose_table(line, 2).entries_max, 300u);
  line.keys = 5;
  EXPECT_EQ(reuse::choose_table(line, 2).replacement, reuse::Replacement::round_robin);
}

TEST(TableChoice, TakesNoneWhereNothingComesBackOrNothingIsGained) {
  reuse::ProfileLine line;
  line.calls = line.timed = line.keys = 100000;
  line.nanoseconds = line.calls * 50;
  EXPECT_FALSE(reuse::choose_table(line, 2).pays);
  line.keys = 1000;
  line.nanoseconds = line.calls * 2;
  EXPECT_FALSE(reuse::choose_table(line, 2).pays);
  EXPECT_FALSE(reuse::choose_table({}, 2).pays);
}

TEST(TableChoice, CountsForATreeOfCallsThatAHitSavesTheCallsWithin) {
  reuse::ProfileLine line;  // 40 distinct keys, a nanosecond each: less than what a look-up costs
  line.calls = 331160281;
  line.timed = 1;
  line.keys = 40;
  line.nanoseconds = line.calls;
  EXPECT_TRUE(reuse::choose_table(line, 2).pays);
  EXPECT_LT(reuse::choose_table(line, 2).nanoseconds, 1e6);
}

TEST_F(ReuseTool, NeedsACompiler) {
  EXPECT_EQ(larder({"cc"}), kError);
  EXPECT_NE(err.find("larder cc clang++"), std::string::npos) << err;
  EXPECT_EQ(larder({"cc", "--"}), kError);
  EXPECT_EQ(larder({"cc", "--", "/nowhere/cc", "--", "x"}), kError);
  EXPECT_NE(err.find("larder cc cannot use /nowhere/cc"), std::string::npos) << err;
}

TEST(Compilation, ReadsResponseFilesAsCompilersDo) {
  EXPECT_EQ(response_words("-c  a.c\n'with blank.c' \"two \\\"quotes\"\tb\\ c ''"),
            (std::vector<std::string>{"-c", "a.c", "with blank.c", "two \"quotes", "b c", ""}));
  const std::string path = testing::TempDir() + "larder-response-" + std::to_string(getpid());
  std::ofstream(path) << "-c '-fsanitize=address' @" << path << '\n';  // and does not follow circles for ever
  const Compilation compilation = read_compilation({"x.c", "@" + path});
  EXPECT_FALSE(compilation.links);
  EXPECT_TRUE(compilation.has_sanitizer);
  EXPECT_TRUE(read_compilation({"@/nowhere/file"}).links);
  std::remove(path.c_str());
}

TEST(Compilation, LinksWhatHasInputsAndDoesNotEndBefore) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"-v", "x.c"},
                                             {"-x", "c", "-"},
                                             {"x.o", "-o", "y"},
                                             {"--", "x.c"},
                                             {"-MMD", "x.c"},
                                             {"-include", "-c", "x.c"}})
    EXPECT_TRUE(read_compilation(arguments).links) << arguments.front();
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"-v"},
                                             {"-o", "x"},
                                             {"--version"},
                                             {"-print-search-dirs"},
                                             {"-E", "x.c"},
                                             {"-M", "x.c"},
                                             {"-MM", "x.c"},
                                             {"-S", "x.c"},
                                             {"-r", "x.o"},
                                             {"-fsyntax-only", "x.c"},
                                             {"-dumpversion"},
                                             {"-###", "x.c"},
                                             {"--analyze", "x.c"}})
    EXPECT_FALSE(read_compilation(arguments).links) << (arguments.empty() ? "" : arguments.front());
}

TEST(Compilation, KnowsWhenItLinksAndWhatInstruments) {
  EXPECT_TRUE(read_compilation({"-O2", "x.c"}).links);
  EXPECT_FALSE(read_compilation({"-O2", "-c", "x.c"}).links);
  EXPECT_TRUE(read_compilation({"-fsanitize=thread"}).has_sanitizer);
  EXPECT_TRUE(read_compilation({"-fprofile-instr-generate=x"}).records_profile);
  EXPECT_FALSE(read_compilation({"-fprofile-use=x"}).records_profile);
}

TEST(Compiler, SaysItsVersionByItsPathWhereThatIsCertain) {
  EXPECT_EQ(version_in("/usr/lib/llvm-19/bin/clang"), 19);
  EXPECT_EQ(version_in("/usr/lib/llvm-14/bin/clang++"), 14);
  for (const char* const path : {"", "/usr/bin/clang-19", "/usr/lib/llvm-/bin/clang", "/usr/lib/llvm-19",
                                 "/usr/lib/llvm-19/bin/gcc", "/usr/lib/llvm-19x/bin/clang"})
    EXPECT_EQ(version_in(path), 0) << path;
}

TEST(Child, GivesOutputAndExitStatus) {
  EXPECT_EQ(output_of({"echo", "a b"}).value_or(""), "a b\n");
  EXPECT_EQ(run_child({"sh", "-c", "exit $STATUS"}, {{"STATUS", "7"}}).value_or(0), 7);
  EXPECT_EQ(run_child({"sh", "-c", "kill -9 $$"}, {}).value_or(0), 137);
  EXPECT_EQ(run_child({"/nowhere/program"}, {}).error().code, Code::not_found);
}

}  // namespace
}  // namespace larder::tool
