// What a ProgramCache promises, over every API that this machine has.
#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <thread>
#include <vector>

#include "cache/testing.hpp"
#include "larder/events.hpp"
#include "larder/nvrtc.hpp"
#include "larder/opencl.hpp"
#include "larder/program.hpp"
#include "program/fake_api.hpp"
#include "program/nvrtc_test_kit.hpp"
#include "program/opencl_test_kit.hpp"

namespace larder::testing {
namespace {

struct Fake {
  using Api = FakeApi;
  static std::string why_not() { return {}; }
  static std::shared_ptr<Api> open() { return std::make_shared<Api>(); }
  static FakeDevice device() { return {}; }
  static constexpr std::int64_t kFailure = -11;
  static std::string source(const std::string& name) { return "kernel " + name + "\n"; }
  static std::string broken() { return "no such type: flaot\n"; }
  static std::string caller(const std::string& name) { return "kernel " + name + "\ncalls helper\n"; }
  static std::string helper() { return "helper\n"; }
};

template <const char* const* kPlatform>
struct Opencl {
  using Api = OpenclApi;
  static const OpenclPlace& place() {
    static const auto* const place = new OpenclPlace(open_opencl(*kPlatform));
    return *place;
  }
  static std::string why_not() { return place().why_not; }
  static std::shared_ptr<Api> open() { return *OpenclApi::open(place().context); }
  static cl_device_id device() { return place().device; }
  static constexpr std::int64_t kFailure = CL_BUILD_PROGRAM_FAILURE;
  static std::string source(const std::string& name) {
    return "kernel void " + name + "(global int* out) { out[get_global_id(0)] = 7; }\n";
  }
  static std::string broken() { return "kernel void broken(global flaot* out) {}\n"; }
  static std::string caller(const std::string& name) {
    return "int helper(void); kernel void " + name + "(global int* out) { out[0] = helper(); }\n";
  }
  static std::string helper() { return "int helper(void) { return 7; }\n"; }
};

struct Nvrtc {
  using Api = NvrtcApi;
  static std::string why_not() { return nvrtc_library().why_not; }
  static std::shared_ptr<Api> open() { return *NvrtcApi::open(nvrtc_library().path); }
  static NvrtcTarget device() { return {90}; }
  static constexpr std::int64_t kFailure = 6;  // NVRTC_ERROR_COMPILATION
  static std::string source(const std::string& name) {
    return "extern \"C\" __global__ void " + name + "(int* out) { out[threadIdx.x] = 7; }\n";
  }
  static std::string broken() { return "__global__ void broken(flaot* out) {}\n"; }
  static std::string caller(const std::string& name) {
    return "__device__ int helper(); extern \"C\" __global__ void " + name +
           "(int* out) { *out = helper(); }\n";
  }
  static std::string helper() { return "__device__ int helper() { return 7; }\n"; }
};

constexpr const char* kPocl = "Portable Computing Language";
constexpr const char* kOclgrind = "Oclgrind";
using Pocl = Opencl<&kPocl>;
using Oclgrind = Opencl<&kOclgrind>;

template <typename Backend>
class ProgramContract : public ::testing::Test {
 protected:
  using Api = CountedApi<typename Backend::Api>;
  using Programs = ProgramCache<Api>;

  void SetUp() override {
    if (const std::string why_not = Backend::why_not(); !why_not.empty()) GTEST_SKIP() << why_not;
    api_ = std::make_shared<Api>(Backend::open());
    device_ = Backend::device();
  }
  void TearDown() override {
    if (api_ != nullptr) {
      EXPECT_EQ(api_->alive, 0) << "programs or kernels that nobody released";
    }
  }

  std::span<const typename Api::Device> devices() const { return {&device_, 1}; }

  std::shared_ptr<Api> api_;
  typename Api::Device device_{};
};

using Backends = ::testing::Types<Fake, Pocl, Oclgrind, Nvrtc>;
TYPED_TEST_SUITE(ProgramContract, Backends);

TYPED_TEST(ProgramContract, BuildsOnceAndFindsTheProgramAgain) {
  Cache cache = Cache::open();
  typename TestFixture::Programs programs(this->api_, &cache);
  const std::string source = TypeParam::source("k");
  ProgramAnswer answer;
  const auto first = programs.get_or_build(this->devices(), {.text = source}, &answer);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(answer.outcome, Outcome::made);
  EXPECT_EQ(answer.reason, Reason::absent);
  const auto second = programs.get_or_build(this->devices(), {.text = source}, &answer);
  ASSERT_TRUE(second);
  EXPECT_EQ(answer.outcome, Outcome::memory_hit);
  EXPECT_EQ(first->get(), second->get());
  EXPECT_EQ(this->api_->builds, 1);
  EXPECT_EQ(this->api_->creates, 0);
}

TYPED_TEST(ProgramContract, WorksWithoutACacheBehind) {
  typename TestFixture::Programs programs(this->api_);
  const std::string source = TypeParam::source("k");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(programs.get_or_build(this->devices(), {.text = source}));
  EXPECT_EQ(this->api_->builds, 1);
}

TYPED_TEST(ProgramContract, ServesALaterContextFromItsBinary) {
  Cache cache = Cache::open();
  const std::string source = TypeParam::source("k");
  for (int context = 0; context < 2; ++context) {
    typename TestFixture::Programs programs(this->api_, &cache);
    auto program = programs.get_or_build(this->devices(), {.text = source});
    ASSERT_TRUE(program) << program.error().what;
    const auto kernel = programs.get_kernel(*program, "k");
    EXPECT_TRUE(kernel) << kernel.error().what;
  }
  EXPECT_EQ(this->api_->builds, 1);
  EXPECT_EQ(this->api_->creates, 1);
}

TYPED_TEST(ProgramContract, ServesALaterProcessFromDisk) {
  ScratchDirectory scratch;
  const std::string source = TypeParam::source("k");
  for (const Outcome expected : {Outcome::made, Outcome::disk_hit}) {
    Cache cache = Cache::open(options_in(scratch));
    typename TestFixture::Programs programs(this->api_, &cache);
    ProgramAnswer answer;
    ASSERT_TRUE(programs.get_or_build(this->devices(), {.text = source}, &answer));
    EXPECT_EQ(answer.outcome, expected);
  }
  EXPECT_EQ(this->api_->builds, 1);
}

TYPED_TEST(ProgramContract, HandsOutOneKernelForOneName) {
  typename TestFixture::Programs programs(this->api_);
  const std::string source = TypeParam::source("a") + TypeParam::source("b");
  const auto program = programs.get_or_build(this->devices(), {.text = source});
  ASSERT_TRUE(program) << program.error().what;
  const auto a = programs.get_kernel(*program, "a");
  ASSERT_TRUE(a) << a.error().what;
  EXPECT_EQ(programs.get_kernel(*program, "a")->get(), a->get());
  EXPECT_NE(programs.get_kernel(*program, "b")->get(), a->get());
  EXPECT_EQ(this->api_->kernels, 2);
  const auto none = programs.get_kernel(*program, "none");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::maker_failed);
}

TYPED_TEST(ProgramContract, FindsTheKernelOfALoopFast) {
  typename TestFixture::Programs programs(this->api_);
  const std::string source = TypeParam::source("k");
  const FastKey<typename TestFixture::Api::Device> key{.image = 1, .device = this->device_, .name = "k"};
  EXPECT_FALSE(programs.get_fast(key));
  const auto kernel = programs.get_or_build_fast(key, [&] { return ProgramInput{.text = source}; });
  ASSERT_TRUE(kernel) << kernel.error().what;
  EXPECT_EQ(programs.get_fast(key).get(), kernel->get());
  EXPECT_EQ(programs.stats().fast_kernels, 1u);
  {
    typename TestFixture::Programs::FastGuard guard(programs);
    EXPECT_EQ(guard.get(key), kernel->get());
  }
  auto other = key;
  other.image = 2;
  EXPECT_FALSE(programs.get_fast(other));
  other = key;
  other.name = "kk";
  EXPECT_FALSE(programs.get_fast(other));
  other = key;
  other.constants = as_bytes("1");
  EXPECT_FALSE(programs.get_fast(other));
}

TYPED_TEST(ProgramContract, AProgramThatLeavesTakesItsKernelsAndFastPlacesAlong) {
  typename TestFixture::Programs programs(this->api_, nullptr, {.programs = {.count_max = 1}});
  const std::string a = TypeParam::source("a");
  const std::string b = TypeParam::source("b");
  const FastKey<typename TestFixture::Api::Device> key{.image = 1, .device = this->device_, .name = "a"};
  ASSERT_TRUE(programs.get_or_build_fast(key, [&] { return ProgramInput{.text = a}; }));
  EXPECT_EQ(programs.stats().kernels, 1u);
  ASSERT_TRUE(programs.get_or_build(this->devices(), {.text = b}));
  EXPECT_EQ(programs.stats().programs, 1u);
  EXPECT_EQ(programs.stats().kernels, 0u);
  EXPECT_FALSE(programs.get_fast(key));
  EXPECT_EQ(programs.stats().fast_kernels, 0u);
  // And it comes back whole.
  ASSERT_TRUE(programs.get_or_build_fast(key, [&] { return ProgramInput{.text = a}; }));
  EXPECT_TRUE(programs.get_fast(key));
}

TYPED_TEST(ProgramContract, WhatIsHeldOutlivesTheCache) {
  auto programs = std::make_unique<typename TestFixture::Programs>(this->api_);
  const std::string source = TypeParam::source("k");
  const auto program = programs->get_or_build(this->devices(), {.text = source});
  ASSERT_TRUE(program);
  const auto kernel = programs->get_kernel(*program, "k");
  ASSERT_TRUE(kernel);
  programs.reset();
  EXPECT_EQ(this->api_->alive, 2);
}

TYPED_TEST(ProgramContract, RemovesABinaryThatTheDriverRefusesAndBuildsAnew) {
  ScratchDirectory scratch;
  const std::string source = TypeParam::source("k");
  const auto ask = [&](ProgramAnswer& answer) {
    Cache cache = Cache::open(options_in(scratch));
    typename TestFixture::Programs programs(this->api_, &cache);
    const auto program = programs.get_or_build(this->devices(), {.text = source}, &answer);
    return program && programs.get_kernel(*program, "k");
  };
  ProgramAnswer answer;
  ASSERT_TRUE(ask(answer));
  this->api_->spoils_binaries = true;
  ASSERT_TRUE(ask(answer));
  EXPECT_EQ(answer.outcome, Outcome::made);
  EXPECT_EQ(answer.reason, Reason::refused);
  EXPECT_EQ(this->api_->builds, 2);
  this->api_->spoils_binaries = false;
  ASSERT_TRUE(ask(answer));
  EXPECT_EQ(answer.outcome, Outcome::disk_hit);
  EXPECT_EQ(this->api_->builds, 2);
}

TYPED_TEST(ProgramContract, ACompilersNoKeepsItsNumberAndLog) {
  ScratchDirectory scratch;
  const std::string source = TypeParam::broken();
  std::vector<BuildFailure> failures;
  for (int i = 0; i < 3; ++i) {
    Cache cache = Cache::open(options_in(scratch));
    typename TestFixture::Programs programs(this->api_, &cache, {.remember_failures = true});
    const auto program = programs.get_or_build(this->devices(), {.text = source});
    ASSERT_FALSE(program);
    const auto failure = build_failure(program.error());
    ASSERT_TRUE(failure) << program.error().what;
    failures.push_back(*failure);
  }
  EXPECT_EQ(failures[0].code, TypeParam::kFailure);
  EXPECT_NE(failures[0].log.find("flaot"), std::string::npos) << failures[0].log;
  for (const BuildFailure& each : failures) {
    EXPECT_EQ(each.code, failures[0].code);
    EXPECT_EQ(each.log, failures[0].log);
  }
  EXPECT_EQ(this->api_->builds, 1);
}

TYPED_TEST(ProgramContract, ForgetsACompilersNoUnlessToldOtherwise) {
  Cache cache = Cache::open();
  typename TestFixture::Programs programs(this->api_, &cache);
  const std::string source = TypeParam::broken();
  for (int i = 0; i < 2; ++i) {
    const auto program = programs.get_or_build(this->devices(), {.text = source});
    ASSERT_FALSE(program);
    EXPECT_EQ(build_failure(program.error())->code, TypeParam::kFailure);
  }
  EXPECT_EQ(this->api_->builds, 2);
}

TYPED_TEST(ProgramContract, ManyThreadsGetOneBuild) {
  Cache cache = Cache::open();
  typename TestFixture::Programs programs(this->api_, &cache);
  const std::string source = TypeParam::source("k");
  constexpr int kThreads = 8;
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      const auto program = programs.get_or_build(this->devices(), {.text = source});
      if (program && programs.get_kernel(*program, "k")) ++good;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, kThreads);
  EXPECT_EQ(this->api_->builds, 1);
  EXPECT_EQ(this->api_->kernels, 1);
}

TYPED_TEST(ProgramContract, EverySourceOfOptionsCountsAndSoDoesTheirOrder) {
  typename TestFixture::Programs programs(this->api_);
  const std::string source = TypeParam::source("k");
  const ProgramInput inputs[] = {
      {.text = source},
      {.text = source, .image_options = {.compile = "-DA=2"}},
      {.text = source, .image_options = {.compile = "-DB=2"}},
      {.text = source, .call_options = {.compile = "-DC=2"}},
      {.text = source, .environment_options = {.compile = "-DD=2"}},
      {.text = source, .image_options = {.compile = "-DA=2"}, .call_options = {.compile = "-DB=2"}},
      {.text = source, .image_options = {.compile = "-DB=2"}, .call_options = {.compile = "-DA=2"}},
      {.text = source, .call_options = {.compile = "-DA=2"}, .environment_options = {.compile = "-DC=2"}},
      {.text = source, .call_options = {.compile = "-DC=2"}, .environment_options = {.compile = "-DA=2"}},
  };
  int expected = 0;
  for (const ProgramInput& input : inputs) {
    ASSERT_TRUE(programs.get_or_build(this->devices(), input));
    EXPECT_EQ(this->api_->builds, ++expected);
  }
  // Where they come from matters only for their order.
  ASSERT_TRUE(
      programs.get_or_build(this->devices(), {.text = source, .environment_options = {.compile = "-DA=2"}}));
  EXPECT_EQ(this->api_->builds, expected);
}

TYPED_TEST(ProgramContract, LinkedProgramsAreMadeFromAllTheirParts) {
  ScratchDirectory scratch;
  const std::string texts[] = {TypeParam::caller("k"), TypeParam::helper(), TypeParam::helper() + "\n"};
  const ProgramInput parts[] = {{.text = texts[0]}, {.text = texts[1]}};
  const ProgramInput others[] = {{.text = texts[0]}, {.text = texts[2]}};
  if (!TestFixture::Api::cannot({.form = ProgramForm::linked, .parts = parts}).empty()) {
    typename TestFixture::Programs programs(this->api_);
    const auto program =
        programs.get_or_build(this->devices(), {.form = ProgramForm::linked, .parts = parts});
    ASSERT_FALSE(program);
    EXPECT_EQ(program.error().code, Code::unsupported);
    EXPECT_EQ(this->api_->builds, 0);
    return;
  }
  for (const Outcome expected : {Outcome::made, Outcome::disk_hit}) {
    Cache cache = Cache::open(options_in(scratch));
    typename TestFixture::Programs programs(this->api_, &cache);
    for (const auto& each : {std::span<const ProgramInput>(parts), std::span<const ProgramInput>(others)}) {
      ProgramAnswer answer;
      const auto program =
          programs.get_or_build(this->devices(), {.form = ProgramForm::linked, .parts = each}, &answer);
      ASSERT_TRUE(program) << program.error().what;
      EXPECT_EQ(answer.outcome, expected);
      EXPECT_TRUE(programs.get_kernel(*program, "k"));
    }
  }
  EXPECT_EQ(this->api_->builds, 2);
}

TYPED_TEST(ProgramContract, BuildsWhatItCannotKeepEachTimeAndSaysWhy) {
  Cache cache = Cache::open();
  typename TestFixture::Programs programs(this->api_, &cache);
  const std::string source = "// made on __DATE__\n" + TypeParam::source("k");
  const Cacheable verdict = programs.is_cacheable(this->devices(), {.text = source});
  EXPECT_FALSE(verdict.is_cacheable);
  EXPECT_NE(verdict.why_not.find("__DATE__"), std::string::npos) << verdict.why_not;
  for (int i = 1; i <= 2; ++i) {
    ProgramAnswer answer;
    const auto program = programs.get_or_build(this->devices(), {.text = source}, &answer);
    ASSERT_TRUE(program) << program.error().what;
    EXPECT_EQ(answer.outcome, Outcome::bypassed);
    EXPECT_EQ(answer.reason, Reason::uncacheable);
    EXPECT_EQ(answer.why_not, verdict.why_not);
    EXPECT_TRUE(programs.get_kernel(*program, "k"));
    EXPECT_EQ(this->api_->builds, i);
  }
  EXPECT_EQ(programs.stats().programs, 0u);
  EXPECT_EQ(programs.stats().kernels, 0u);
}

TYPED_TEST(ProgramContract, StandsAsideWhenSwitchedOff) {
  Options options;
  options.disable = true;
  Cache cache = Cache::open(options);
  typename TestFixture::Programs programs(this->api_, &cache);
  const std::string source = TypeParam::source("k");
  for (int i = 1; i <= 2; ++i) {
    ASSERT_TRUE(programs.get_or_build(this->devices(), {.text = source}));
    EXPECT_EQ(this->api_->builds, i);
  }
}

}  // namespace
}  // namespace larder::testing
