// `larder cc` and `larder reuse-report` without a compiler; plugin/tests/cc_test.sh has those with one.
#include <fstream>

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

TEST(Compilation, KnowsWhenItLinksAndWhatInstruments) {
  EXPECT_TRUE(read_compilation({"-O2", "x.c"}).links);
  EXPECT_FALSE(read_compilation({"-O2", "-c", "x.c"}).links);
  EXPECT_TRUE(read_compilation({"-fsanitize=thread"}).has_sanitizer);
  EXPECT_TRUE(read_compilation({"-fprofile-instr-generate=x"}).records_profile);
  EXPECT_FALSE(read_compilation({"-fprofile-use=x"}).records_profile);
}

TEST(Child, GivesOutputAndExitStatus) {
  EXPECT_EQ(output_of({"echo", "a b"}).value_or(""), "a b\n");
  EXPECT_EQ(run_child({"sh", "-c", "exit $STATUS"}, {{"STATUS", "7"}}).value_or(0), 7);
  EXPECT_EQ(run_child({"sh", "-c", "kill -9 $$"}, {}).value_or(0), 137);
  EXPECT_EQ(run_child({"/nowhere/program"}, {}).error().code, Code::not_found);
}

}  // namespace
}  // namespace larder::tool
