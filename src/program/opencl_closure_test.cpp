// Headers of OpenCL programs, on disk and given in memory, with real compilers: which ones decided is heard
// while they compile.
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "cache/testing.hpp"
#include "larder/difference.hpp"
#include "larder/opencl.hpp"
#include "larder/program.hpp"
#include "program/fake_api.hpp"
#include "program/opencl_test_kit.hpp"

namespace larder::testing {
namespace {

namespace fs = std::filesystem;
using CountedOpencl = CountedApi<OpenclApi>;
using OpenclPrograms = ProgramCache<CountedOpencl>;

constexpr std::string_view kClosureSource =
    "#include \"value.h\"\n"
    "kernel void give(global int* out) { out[get_global_id(0)] = VALUE; }\n";

struct OnPocl {
  static constexpr std::string_view kPlatform = "Portable Computing Language";
  static constexpr bool kBuildsSeveralAtOnce = true;
};
struct OnOclgrind {
  static constexpr std::string_view kPlatform = "Oclgrind";
  // Oclgrind 21.10 crashes now and then: its builds share one LLVM context without a lock.
  static constexpr bool kBuildsSeveralAtOnce = false;
};

template <typename Driver>
class OpenclClosure : public ::testing::Test {
 protected:
  void SetUp() override {
    static const auto* const place = new OpenclPlace(open_opencl(Driver::kPlatform));
    if (!place->why_not.empty()) GTEST_SKIP() << place->why_not;
    place_ = *place;
    api_ = std::make_shared<CountedOpencl>(*OpenclApi::open(place_.context));
    fs::create_directories(at("early"));
    fs::create_directories(at("late"));
    write("late/value.h", "#define VALUE 1");
  }

  std::string at(const std::string& name) const { return scratch_.path() + '/' + name; }
  // Long ago, so that its times prove something.
  void write(const std::string& name, const std::string& content, int days_ago = 1) const {
    std::ofstream(at(name)) << content << '\n';
    fs::last_write_time(at(name), fs::file_time_type::clock::now() - std::chrono::hours(24 * days_ago));
  }
  std::string folders() const { return "-I " + at("early") + " -I " + at("late"); }

  // In a process of its own, as it were; runs the kernel when it can.
  ProgramAnswer ask(const ProgramInput& input) {
    Cache cache = Cache::open(options_in(scratch_));
    OpenclPrograms programs(api_, &cache, {.remember_failures = true});
    ProgramAnswer answer;
    auto program = programs.get_or_build({&place_.device, 1}, input, &answer);
    error_ = program ? "" : program.error().what;
    value_ = program ? run(programs, *program) : -1;
    return answer;
  }
  ProgramAnswer ask(std::string_view source = kClosureSource) {
    const std::string options = folders();
    return ask({.text = source, .call_options = {.compile = options}});
  }

  int run(OpenclPrograms& programs, const OpenclPrograms::ProgramHandle& program) const {
    const OpenclLoader& cl = opencl_loader();
    auto kernel = programs.get_kernel(program, "give");
    if (!kernel) return -2;
    cl_int code = CL_SUCCESS;
    int value = -3;
    // What OpenCL 2.0 has in its place, Oclgrind lacks.
    cl_command_queue queue = cl.find<decltype(clCreateCommandQueue)>("clCreateCommandQueue")(
        place_.context, place_.device, 0, &code);
    cl_mem out = cl.find<decltype(clCreateBuffer)>("clCreateBuffer")(place_.context, CL_MEM_READ_WRITE,
                                                                     sizeof value, nullptr, &code);
    const std::size_t one = 1;
    cl.find<decltype(clSetKernelArg)>("clSetKernelArg")((*kernel)->handle(), 0, sizeof(void*), &out);
    cl.find<decltype(clEnqueueNDRangeKernel)>("clEnqueueNDRangeKernel")(
        queue, (*kernel)->handle(), 1, nullptr, &one, &one, 0, nullptr, nullptr);
    cl.find<decltype(clEnqueueReadBuffer)>("clEnqueueReadBuffer")(queue, out, CL_TRUE, 0, sizeof value,
                                                                  &value, 0, nullptr, nullptr);
    cl.find<decltype(clReleaseMemObject)>("clReleaseMemObject")(out);
    cl.find<decltype(clReleaseCommandQueue)>("clReleaseCommandQueue")(queue);
    return value;
  }

  ScratchDirectory scratch_;
  OpenclPlace place_;
  std::shared_ptr<CountedOpencl> api_;
  std::string error_;
  int value_ = 0;
};

using Drivers = ::testing::Types<OnPocl, OnOclgrind>;
TYPED_TEST_SUITE(OpenclClosure, Drivers);

TYPED_TEST(OpenclClosure, AProgramWithHeadersIsFoundAgainWhileNoneChanges) {
  const ProgramAnswer first = this->ask();
  EXPECT_EQ(first.outcome, Outcome::made) << this->error_;
  EXPECT_EQ(first.why_not, "");
  EXPECT_EQ(this->ask().outcome, Outcome::disk_hit);
  EXPECT_EQ(this->value_, 1);
  EXPECT_EQ(this->api_->builds, 1);
}

TYPED_TEST(OpenclClosure, AnEditedHeaderIsAMissAndTheEarlierOneAHitAgain) {
  this->ask();
  this->write("late/value.h", "#define VALUE 2");
  EXPECT_EQ(this->ask().outcome, Outcome::made);
  EXPECT_EQ(this->value_, 2);
  this->write("late/value.h", "#define VALUE 1", 3);
  EXPECT_EQ(this->ask().outcome, Outcome::disk_hit);
  EXPECT_EQ(this->value_, 1);
}

TYPED_TEST(OpenclClosure, AHeaderThatWouldNowBeFoundEarlierIsAMiss) {
  this->ask();
  this->write("early/value.h", "#define VALUE 3");
  EXPECT_EQ(this->ask().outcome, Outcome::made);
  EXPECT_EQ(this->value_, 3);
  fs::remove(this->at("early/value.h"));
  EXPECT_EQ(this->ask().outcome, Outcome::disk_hit);
  EXPECT_EQ(this->value_, 1);
}

TYPED_TEST(OpenclClosure, HasIncludeIsHeardOf) {
  constexpr std::string_view kAsking =
      "#if __has_include(\"more.h\")\n#define VALUE 5\n#else\n#define VALUE 4\n#endif\n"
      "kernel void give(global int* out) { out[0] = VALUE; }\n";
  EXPECT_EQ(this->ask(kAsking).outcome, Outcome::made);
  EXPECT_EQ(this->value_, 4);
  EXPECT_EQ(this->ask(kAsking).outcome, Outcome::disk_hit);
  this->write("late/more.h", "");
  EXPECT_EQ(this->ask(kAsking).outcome, Outcome::made);
  EXPECT_EQ(this->value_, 5);
}

TYPED_TEST(OpenclClosure, HeadersOfHeadersDecide) {
  this->write("late/value.h", "#include \"deep.h\"");
  this->write("late/deep.h", "#define VALUE 6");
  this->ask();
  EXPECT_EQ(this->value_, 6);
  this->write("late/deep.h", "#define VALUE 7");
  EXPECT_EQ(this->ask().outcome, Outcome::made);
  EXPECT_EQ(this->value_, 7);
}

TYPED_TEST(OpenclClosure, AHeaderThatAnOptionNamesDecides) {
  const std::string options = "-include " + this->at("late/value.h");
  const ProgramInput input{.text = "kernel void give(global int* out) { out[0] = VALUE; }\n",
                           .call_options = {.compile = options}};
  const ProgramAnswer first = this->ask(input);
  if (this->value_ < 0) {  // PoCL takes no such option
    EXPECT_NE(this->error_.find("-include"), std::string::npos) << this->error_;
    return;
  }
  EXPECT_EQ(first.outcome, Outcome::made);
  EXPECT_EQ(this->ask(input).outcome, Outcome::disk_hit);
  this->write("late/value.h", "#define VALUE 8");
  EXPECT_EQ(this->ask(input).outcome, Outcome::made);
  EXPECT_EQ(this->value_, 8);
}

TYPED_TEST(OpenclClosure, ACompilersNoIsForgottenWhenTheHeaderThatItMissedComes) {
  fs::remove(this->at("late/value.h"));
  this->ask();
  EXPECT_EQ(this->value_, -1);
  this->ask();
  EXPECT_EQ(this->api_->builds, 1) << "the compiler's no is remembered";
  this->write("late/value.h", "#define VALUE 9");
  EXPECT_EQ(this->ask().outcome, Outcome::made) << this->error_;
  EXPECT_EQ(this->value_, 9);
}

TYPED_TEST(OpenclClosure, HeadersInMemoryAreIngredientsByNameAndContent) {
  const auto with = [this](std::string_view name, std::string_view text) {
    const ProgramHeader header{name, text};
    return this->ask({.text = kClosureSource, .headers = {&header, 1}});
  };
  EXPECT_EQ(with("value.h", "#define VALUE 11\n").outcome, Outcome::made) << this->error_;
  EXPECT_EQ(this->value_, 11);
  EXPECT_EQ(with("value.h", "#define VALUE 11\n").outcome, Outcome::disk_hit);
  EXPECT_EQ(this->value_, 11);
  EXPECT_EQ(with("value.h", "#define VALUE 12\n").outcome, Outcome::made);
  EXPECT_EQ(this->value_, 12);
  with("other.h", "#define VALUE 12\n");
  EXPECT_EQ(this->value_, -1) << "it is not called what the source includes";
}

TYPED_TEST(OpenclClosure, AHeaderWithTheTimeInItIsNotKept) {
  this->write("late/value.h", "#define VALUE (__TIME__[0] ? 1 : 2)");
  const ProgramAnswer answer = this->ask();
  EXPECT_NE(answer.why_not.find("__TIME__"), std::string::npos) << answer.why_not;
  EXPECT_EQ(this->ask().outcome, answer.outcome);
  EXPECT_EQ(this->api_->builds, 2);
}

TYPED_TEST(OpenclClosure, SeveralProgramsCompiledAtOnceHaveTheirOwnClosures) {
  Cache cache = Cache::open(options_in(this->scratch_));
  OpenclPrograms programs(this->api_, &cache);
  const std::string options = this->folders();
  for (int i = 0; i < 4; ++i) this->write("late/v" + std::to_string(i) + ".h", "#define VALUE 1");
  const auto all = [&] {
    std::array<Outcome, 4> outcomes{};
    std::vector<std::thread> started;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
      started.emplace_back([&, i] {
        const std::string source = "#include \"v" + std::to_string(i) +
                                   ".h\"\nkernel void give(global int* out) { out[0] = VALUE; }\n";
        ProgramAnswer answer;
        EXPECT_TRUE(programs.get_or_build({&this->place_.device, 1},
                                          {.text = source, .call_options = {.compile = options}}, &answer));
        EXPECT_EQ(answer.why_not, "");
        outcomes[i] = answer.outcome;
      });
      if (!TypeParam::kBuildsSeveralAtOnce) started.back().join();
    }
    for (std::thread& each : started) {
      if (each.joinable()) each.join();
    }
    programs.clear();
    return outcomes;
  };
  for (const Outcome outcome : all()) EXPECT_EQ(outcome, Outcome::made);
  this->write("late/v2.h", "#define VALUE 2");
  const auto outcomes = all();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i], i == 2 ? Outcome::made : Outcome::memory_hit) << i;
  }
}

TYPED_TEST(OpenclClosure, WithoutIncludesNoFileIsLookedAt) {
  constexpr std::string_view kPlain = "kernel void give(global int* out) { out[0] = 1; }\n";
  EXPECT_EQ(this->ask(kPlain).outcome, Outcome::made);
  EXPECT_EQ(this->ask(kPlain).outcome, Outcome::disk_hit);
  const Recipe recipe = OpenclPrograms(this->api_).recipe(this->place_.device, {.text = kPlain});
  for (const Ingredient& each : recipe.ingredients()) EXPECT_NE(each.name, "source-folder");
}

TEST(PoclFolder, WhereSourcesLieDecidesForProgramsThatInclude) {
  const OpenclPlace place = open_opencl(OnPocl::kPlatform);
  if (!place.why_not.empty()) GTEST_SKIP() << place.why_not;
  const std::string before = ::getenv("POCL_CACHE_DIR");
  OpenclPrograms programs(std::make_shared<CountedOpencl>(*OpenclApi::open(place.context)));
  const Recipe here = programs.recipe(place.device, {.text = kClosureSource});
  ::setenv("POCL_CACHE_DIR", "/elsewhere", 1);
  const Recipe there = programs.recipe(place.device, {.text = kClosureSource});
  ::setenv("POCL_CACHE_DIR", before.c_str(), 1);
  EXPECT_NE(here.key(), there.key());
  bool says_which = false;
  for (const Ingredient& each : here.ingredients())
    says_which = says_which || (each.name == "source-folder" && as_text(each.bytes) == before);
  EXPECT_TRUE(says_which);
}

TEST(PoclFolder, FlagsOfTheEnvironmentThatNameFilesForbidKeeping) {
  const OpenclPlace place = open_opencl(OnPocl::kPlatform);
  if (!place.why_not.empty()) GTEST_SKIP() << place.why_not;
  const auto api = *OpenclApi::open(place.context);
  ::setenv("POCL_EXTRA_BUILD_FLAGS", "-include /some/header.h", 1);
  const std::string why_not = api->identity(place.device).why_not;
  ::unsetenv("POCL_EXTRA_BUILD_FLAGS");
  EXPECT_NE(why_not.find("POCL_EXTRA_BUILD_FLAGS"), std::string::npos) << why_not;
}

}  // namespace
}  // namespace larder::testing
