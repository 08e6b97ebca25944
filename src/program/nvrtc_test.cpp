#include "larder/nvrtc.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cache/testing.hpp"
#include "larder/compiler_options.hpp"
#include "larder/difference.hpp"
#include "program/fake_api.hpp"
#include "program/nvrtc_test_kit.hpp"

namespace larder::testing {
namespace {

namespace fs = std::filesystem;

std::string canonical(std::initializer_list<const char*> options) {
  const std::vector<const char*> all(options);
  return NvrtcApi::canonicalise(join_options(all)).text;
}
std::string why_not(std::initializer_list<const char*> options) {
  const std::vector<const char*> all(options);
  return NvrtcApi::canonicalise(join_options(all)).why_not;
}

TEST(NvrtcOptions, AreOneTextAndSeveralWordsAgain) {
  const char* const options[] = {"-DA=\"x y\"", "-I/a\\b", "-w", "-DT=\ta"};
  const std::vector<std::string> words = split_options(join_options(options));
  EXPECT_EQ(words, (std::vector<std::string>{options[0], options[1], options[2], options[3]}));
}
TEST(NvrtcOptions, DefinesAreOneWord) {
  for (const auto& same : {canonical({"-D", "X=1"}), canonical({"-DX"}), canonical({"--define-macro=X"}),
                           canonical({"--define-macro", "X=1"})}) {
    EXPECT_EQ(same, "-DX");
  }
  EXPECT_EQ(canonical({"-DX=A==1"}), "-DX=A==1");
  EXPECT_EQ(canonical({"--undefine-macro", "X"}), "-UX");
}
TEST(NvrtcOptions, IncludeFoldersAreOneWord) {
  for (const auto& same : {canonical({"-I", "/a b"}), canonical({"-I/a b"}),
                           canonical({"--include-path=/a b"}), canonical({"--include-path", "/a b"})}) {
    EXPECT_EQ(same, "-I/a\\ b");
  }
}
TEST(NvrtcOptions, TheArchitectureHasOneSpelling) {
  for (const auto& same :
       {canonical({"-arch=sm_90"}), canonical({"-arch", "sm_90"}), canonical({"--gpu-architecture=sm_90"}),
        canonical({"--gpu-architecture", "sm_90"})}) {
    EXPECT_EQ(same, "--gpu-architecture=sm_90");
  }
}
TEST(NvrtcOptions, ShortSpellingsBecomeLongOnes) {
  EXPECT_EQ(canonical({"-std=c++17"}), canonical({"--std=c++17"}));
  EXPECT_EQ(canonical({"-maxrregcount=32"}), canonical({"--maxrregcount", "32"}));
  EXPECT_EQ(canonical({"-Xptxas", "-v"}), canonical({"--ptxas-options=-v"}));
  EXPECT_EQ(canonical({"-rdc=true"}), canonical({"--relocatable-device-code", "true"}));
  EXPECT_EQ(canonical({"-w"}), canonical({"--disable-warnings"}));
  EXPECT_EQ(canonical({"-use_fast_math"}), canonical({"--use_fast_math"}));
  EXPECT_EQ(canonical({"-default-device"}), canonical({"--device-as-default-execution-space"}));
  EXPECT_EQ(canonical({"-dlto"}), canonical({"--dlink-time-opt"}));
  EXPECT_EQ(canonical({"-G"}), canonical({"--device-debug"}));
  EXPECT_EQ(canonical({"-lineinfo"}), canonical({"--generate-line-info"}));
}
TEST(NvrtcOptions, WhatIsSaidTwiceIsSaidOnceWhereItMeansNothing) {
  EXPECT_EQ(canonical({"-w", "--disable-warnings"}), "--disable-warnings");
  EXPECT_EQ(canonical({"-std=c++17", "-std=c++20", "-std=c++17"}), "--std=c++17 --std=c++20 --std=c++17");
}
TEST(NvrtcOptions, OrderCountsAndWhatNoRuleKnowsStays) {
  EXPECT_EQ(canonical({"-fmad=false", "--prec-div=true"}), "-fmad=false --prec-div=true");
  EXPECT_NE(canonical({"-DX", "-UX"}), canonical({"-UX", "-DX"}));
  EXPECT_EQ(canonical({"-arch"}), "-arch");
}
TEST(NvrtcOptions, SideEffectsForbidKeeping) {
  for (const char* const option :
       {"-time=a.csv", "--time=a.csv", "-fdevice-time-trace=a", "--fdevice-time-trace=a", "-pch", "--pch",
        "-create-pch=a", "--use-pch=a", "-pch-dir=a"}) {
    EXPECT_NE(why_not({option}).find("does more than compile"), std::string::npos) << option;
  }
  EXPECT_EQ(why_not({"-arch=sm_90", "-lineinfo"}), "");
}
TEST(NvrtcOptions, DebugInformationNamesTheFolder) {
  EXPECT_TRUE(NvrtcApi::canonicalise("-lineinfo").names_folder);
  EXPECT_TRUE(NvrtcApi::canonicalise("--device-debug").names_folder);
  EXPECT_FALSE(NvrtcApi::canonicalise("-w").names_folder);
  EXPECT_TRUE(NvrtcApi::canonicalise("-include a.h").reads_files);
}

class NvrtcTest : public ::testing::Test {
 protected:
  using Api = CountedApi<NvrtcApi>;
  using Programs = ProgramCache<Api>;

  void SetUp() override {
    if (!nvrtc_library().why_not.empty()) GTEST_SKIP() << nvrtc_library().why_not;
    reopen();
    fs::create_directories(at("early"));
    fs::create_directories(at("late"));
    write("late/a.h", "#define VALUE 1\n");
  }
  void reopen() { api_ = std::make_shared<Api>(*NvrtcApi::open(nvrtc_library().path)); }
  std::string at(const std::string& name) const { return scratch_.path() + '/' + name; }
  void write(const std::string& name, const std::string& content) const {
    std::ofstream(at(name)) << content;
  }
  std::string folders() const { return "-I" + at("early") + " -I" + at("late"); }

  // In a process of its own, as it were; the PTX.
  std::string ask(const ProgramInput& input, ProgramAnswer& answer) {
    Cache cache = Cache::open(options_in(scratch_));
    Programs programs(api_, &cache);
    const auto program = programs.get_or_build({&target_, 1}, input, &answer);
    if (!program) return program.error().what;
    return std::string(as_text((*program)->handle()->artefact("ptx")));
  }
  Outcome ask(const std::string& source, const std::string& options) {
    ProgramAnswer answer;
    ptx_ = ask({.text = source, .call_options = {.compile = options}}, answer);
    why_not_ = answer.why_not;
    return answer.outcome;
  }

  ScratchDirectory scratch_;
  std::shared_ptr<Api> api_;
  NvrtcTarget target_{};
  std::string ptx_;
  std::string why_not_;
};

constexpr const char* kIncluding =
    "#include \"a.h\"\nextern \"C\" __global__ void k(int* x) { *x = VALUE; }\n";

TEST_F(NvrtcTest, GivesWhatWasMadeForRealAndWhatWasKeptTheSame) {
  const std::string source = "template <int N> __global__ void k(int* x) { *x = N; }\n";
  const std::string_view names[] = {"k<3>", "k<4>"};
  for (const char* options : {"-arch=sm_90", "", "-dlto"}) {
    Artefacts first;
    for (const Outcome expected : {Outcome::made, Outcome::disk_hit}) {
      Cache cache = Cache::open(options_in(scratch_));
      Programs programs(api_, &cache);
      ProgramAnswer answer;
      const auto program = programs.get_or_build(
          {&target_, 1}, {.text = source, .name_expressions = names, .call_options = {.compile = options}},
          &answer);
      ASSERT_TRUE(program) << program.error().what;
      EXPECT_EQ(answer.outcome, expected);
      const NvrtcProgram& made = *(*program)->handle();
      EXPECT_EQ(as_text(made.artefact("name k<3>")), "_Z1kILi3EEvPi");
      EXPECT_EQ((*programs.get_kernel(*program, "k<4>"))->handle()->lowered_name, "_Z1kILi4EEvPi");
      if (expected == Outcome::made) first = made.artefacts;
      EXPECT_EQ(made.artefacts, first);
      EXPECT_EQ(made.artefact("cubin").empty(), std::string_view(options) != "-arch=sm_90");
      EXPECT_EQ(made.artefact("lto-ir").empty(), std::string_view(options) != "-dlto");
    }
  }
}

TEST_F(NvrtcTest, NameExpressionsMayStandInAnyOrder) {
  const std::string source = "template <int N> __global__ void k(int* x) { *x = N; }\n";
  const std::string_view names[] = {"k<3>", "k<4>"};
  const std::string_view others[] = {"k<4>", "k<3>", "k<4>"};
  ProgramAnswer answer;
  ask({.text = source, .name_expressions = names}, answer);
  ask({.text = source, .name_expressions = others}, answer);
  EXPECT_EQ(answer.outcome, Outcome::disk_hit);
}

TEST_F(NvrtcTest, AnEditedHeaderIsAMissAndTheEarlierOneAHitAgain) {
  EXPECT_EQ(ask(kIncluding, folders()), Outcome::made);
  const std::string before = ptx_;
  EXPECT_EQ(ask(kIncluding, folders()), Outcome::disk_hit);
  EXPECT_EQ(ptx_, before);
  write("late/a.h", "#define VALUE 2\n");
  EXPECT_EQ(ask(kIncluding, folders()), Outcome::made);
  EXPECT_NE(ptx_, before);
  write("late/a.h", "#define VALUE 1\n");
  EXPECT_EQ(ask(kIncluding, folders()), Outcome::disk_hit);
  EXPECT_EQ(ptx_, before);
}

TEST_F(NvrtcTest, AHeaderThatWouldNowBeFoundEarlierIsAMiss) {
  EXPECT_EQ(ask(kIncluding, folders()), Outcome::made);
  write("early/a.h", "#define VALUE 3\n");
  EXPECT_EQ(ask(kIncluding, folders()), Outcome::made);
  EXPECT_NE(ptx_.find("3;"), std::string::npos) << ptx_;
}

TEST_F(NvrtcTest, HasIncludeIsHeardOf) {
  const std::string source =
      "#if __has_include(\"maybe.h\")\n#define V 1\n#else\n#define V 2\n#endif\n"
      "extern \"C\" __global__ void k(int* x) { *x = V; }\n";
  EXPECT_EQ(ask(source, folders()), Outcome::made);
  EXPECT_EQ(ask(source, folders()), Outcome::disk_hit);
  write("late/maybe.h", "");
  EXPECT_EQ(ask(source, folders()), Outcome::made);
  fs::remove(at("late/maybe.h"));
  EXPECT_EQ(ask(source, folders()), Outcome::disk_hit);
}

TEST_F(NvrtcTest, ACheckoutElsewhereIsAHitWhenItsFoldersAreNamedRelatively) {
  const fs::path before = fs::current_path();
  for (const char* checkout : {"one", "two"}) {
    fs::create_directories(at(checkout) + "/inc");
    write(std::string(checkout) + "/inc/a.h", "#define VALUE 1\n");
    fs::current_path(at(checkout));
    const Outcome plain = ask(kIncluding, "-Iinc");
    const Outcome with_lines = ask(kIncluding, "-Iinc -lineinfo");
    fs::current_path(before);
    EXPECT_EQ(plain, std::string_view(checkout) == "one" ? Outcome::made : Outcome::disk_hit);
    EXPECT_EQ(with_lines, Outcome::made) << "line information names the folder";
  }
}

TEST_F(NvrtcTest, HeadersInMemoryHideThoseOnDiskAndDecide) {
  for (const char* value : {"#define VALUE 5\n", "#define VALUE 6\n"}) {
    const ProgramHeader headers[] = {{"a.h", value}};
    ProgramAnswer answer;
    ask({.text = kIncluding, .headers = headers}, answer);
    EXPECT_EQ(answer.outcome, Outcome::made);
    const std::string ptx = ask({.text = kIncluding, .headers = headers}, answer);
    EXPECT_EQ(answer.outcome, Outcome::disk_hit);
    EXPECT_NE(ptx.find(std::string(value).substr(14, 1) + ";"), std::string::npos);
  }
}

TEST_F(NvrtcTest, WhatDoesMoreThanCompileIsDoneEachTimeAndNotKept) {
  const std::string options = folders() + " -time=" + at("times.csv");
  for (int i = 0; i < 2; ++i) {
    fs::remove(at("times.csv"));
    EXPECT_EQ(ask(kIncluding, options), Outcome::bypassed);
    EXPECT_NE(why_not_.find("--time="), std::string::npos) << why_not_;
    EXPECT_TRUE(fs::exists(at("times.csv")));
  }
}

TEST_F(NvrtcTest, ChangesWithWhatItReadsOfTheEnvironmentAndWithNothingElse) {
  const auto facts = [&] { return api_->identity({}); };
  const DeviceIdentity before = facts();
  for (const char* const name : {"NVRTC_APPEND_FLAGS", "NVRTC_DISABLE_PCH", "NVVM_IR_VER_CHK"}) {
    ::setenv(name, "-DX", 1);
    EXPECT_NE(facts(), before) << name;
    ::unsetenv(name);
  }
  for (const char* const name : {"NVRTC_INTERNAL_GLOBAL_LOCK", "CUDA_CACHE_DISABLE", "LARDER_SOMETHING"}) {
    ::setenv(name, "1", 1);
    EXPECT_EQ(facts(), before) << name;
    ::unsetenv(name);
  }
  ::setenv("NVRTC_APPEND_FLAGS", "-time=x.csv", 1);
  EXPECT_NE(facts().why_not.find("NVRTC_APPEND_FLAGS"), std::string::npos);
  ::unsetenv("NVRTC_APPEND_FLAGS");
  ::setenv("AS_SECURE_LOG_FILE", "x", 1);
  EXPECT_NE(facts().why_not.find("AS_SECURE_LOG_FILE"), std::string::npos);
  ::unsetenv("AS_SECURE_LOG_FILE");
}

TEST_F(NvrtcTest, KnowsItsBuildAndThatOfItsBuiltins) {
  std::string builds;
  for (const auto& [name, value] : api_->identity({}).facts) builds += name + '=' + value + '\n';
  EXPECT_NE(builds.find("nvrtc-build="), std::string::npos);
  EXPECT_NE(builds.find("libnvrtc.so"), std::string::npos) << builds;
  EXPECT_NE(builds.find("nvrtc-builtins-build=libnvrtc-builtins"), std::string::npos) << builds;
  EXPECT_EQ(api_->identity({}).why_not, "");
  // Before and after the library is loaded by a compilation.
  const DeviceIdentity before = api_->identity({});
  ask(kIncluding, folders());
  reopen();
  EXPECT_EQ(api_->identity({}), before);
}

TEST_F(NvrtcTest, EveryInputMattersAndIsNamed) {
  const auto recipe = [&](const ProgramInput& input, NvrtcTarget target = {}) {
    Programs programs(api_);
    return programs.recipe(target, input);
  };
  const ProgramHeader headers[] = {{"a.h", ""}};
  const std::string_view names[] = {"k"};
  const Recipe before = recipe({.text = kIncluding});
  const std::pair<Recipe, std::string_view> kCases[] = {
      {recipe({.text = "x"}), "text"},
      {recipe({.text = kIncluding, .headers = headers}), "header a.h"},
      {recipe({.text = kIncluding, .name = "k.cu"}), "name"},
      {recipe({.text = kIncluding, .name_expressions = names}), "name-expression"},
      {recipe({.text = kIncluding, .call_options = {.compile = "-w"}}), "compile-options"},
      {recipe({.text = kIncluding}, {90}), "architecture"},
  };
  for (const auto& [after, name] : kCases) {
    const Difference found = difference(before, after);
    ASSERT_EQ(found.changes.size(), 1u) << name;
    EXPECT_EQ(found.changes.front().name(), name);
  }
}

TEST_F(NvrtcTest, CannotLinkAndHasNoConstants) {
  const SpecConstant constants[] = {{.id = 1, .value = {}}};
  EXPECT_NE(NvrtcApi::cannot({.form = ProgramForm::image}), "");
  EXPECT_NE(NvrtcApi::cannot({.constants = constants}), "");
  EXPECT_NE(NvrtcApi::cannot({.call_options = {.link = "-x"}}), "");
  EXPECT_EQ(NvrtcApi::cannot({.text = "x"}), "");
}

TEST_F(NvrtcTest, CubIsFoundAgainWithAllItsHeaders) {
  if (nvrtc_library().include.empty()) GTEST_SKIP() << "no CUB headers beside " << nvrtc_library().path;
  const std::string source =
      "#include <cub/block/block_reduce.cuh>\n#include <cooperative_groups.h>\n"
      "extern \"C\" __global__ void k(int* x) { typedef cub::BlockReduce<int, 128> R;\n"
      "__shared__ typename R::TempStorage t; int s = R(t).Sum(x[threadIdx.x]);\n"
      "cooperative_groups::this_thread_block().sync(); x[threadIdx.x] = s; }\n";
  const std::string options =
      "-I" + nvrtc_library().include + " -I" + nvrtc_library().include + "/cccl -std=c++17 -arch=sm_90";
  ASSERT_EQ(ask(source, options), Outcome::made) << ptx_ << why_not_;
  const std::string before = ptx_;
  EXPECT_EQ(ask(source, options), Outcome::disk_hit);
  EXPECT_EQ(ptx_, before);
  EXPECT_EQ(api_->builds, 1);
}

}  // namespace
}  // namespace larder::testing
