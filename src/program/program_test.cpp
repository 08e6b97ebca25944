#include "larder/program.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cache/testing.hpp"
#include "larder/difference.hpp"
#include "program/fake_api.hpp"

namespace larder::testing {
namespace {

using Api = CountedApi<FakeApi>;
using Programs = ProgramCache<Api>;

std::shared_ptr<Api> open_api() {
  return std::make_shared<Api>(std::make_shared<FakeApi>());
}

constexpr FakeDevice kFirst{.number = 1, .of_class = 1};
constexpr FakeDevice kTwin{.number = 2, .of_class = 1};
constexpr FakeDevice kOther{.number = 3, .of_class = 2};
constexpr std::string_view kSource = "kernel k\n";

std::span<const FakeDevice> only(const FakeDevice& device) {
  return {&device, 1};
}

TEST(ProgramCache, BuildsOnceForDevicesThatAreAlike) {
  const auto api = open_api();
  Cache cache = Cache::open();
  Programs programs(api, &cache);
  const FakeDevice twins[] = {kFirst, kTwin};
  ASSERT_TRUE(programs.get_or_build(twins, {.text = kSource}));
  EXPECT_EQ(api->builds, 1);
  ASSERT_TRUE(programs.get_or_build(only(kTwin), {.text = kSource}));
  EXPECT_EQ(api->builds, 1);
}

TEST(ProgramCache, BuildsForEachClassOfDevices) {
  const auto api = open_api();
  Cache cache = Cache::open();
  Programs programs(api, &cache);
  const FakeDevice all[] = {kOther, kFirst, kTwin};
  const auto program = programs.get_or_build(all, {.text = kSource});
  ASSERT_TRUE(program);
  EXPECT_EQ(api->builds, 2);
  ASSERT_EQ((*program)->handle()->code.size(), 3u);
  EXPECT_EQ((*program)->handle()->code[0].substr(0, 10), "code for 2");
  EXPECT_EQ((*program)->handle()->code[2].substr(0, 10), "code for 1");
}

TEST(ProgramCache, EmptiesItsMapsAndTriesAgainWhenResourcesRunOut) {
  const auto api = open_api();
  Cache cache = Cache::open();
  Programs programs(api, &cache);
  const auto before = programs.get_or_build(only(kFirst), {.text = "kernel before\n"});
  ASSERT_TRUE(before);
  ASSERT_TRUE(programs.get_kernel(*before, "before"));
  int failures = 1;
  api->inner->moods.before_build = [&]() -> Result<void> {
    if (failures-- > 0) return fail(Code::out_of_resources, "fake driver: device memory is full");
    return {};
  };
  ASSERT_TRUE(programs.get_or_build(only(kFirst), {.text = kSource}));
  EXPECT_EQ(api->builds, 3);
  EXPECT_EQ(programs.stats().programs, 1u);
  EXPECT_EQ(programs.stats().kernels, 0u);
}

TEST(ProgramCache, TellsThatResourcesStayShort) {
  const auto api = open_api();
  Programs programs(api);
  api->inner->moods.before_build = []() -> Result<void> { return fail(Code::out_of_resources, "full"); };
  const auto program = programs.get_or_build(only(kFirst), {.text = kSource});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::out_of_resources);
  EXPECT_EQ(api->builds, 2);
}

TEST(ProgramCache, DoesNotRememberAFailureThatMayPass) {
  const auto api = open_api();
  Cache cache = Cache::open();
  Programs programs(api, &cache, {.remember_failures = true});
  api->inner->moods.before_build = []() -> Result<void> { return fail(Code::transient, "busy"); };
  const auto program = programs.get_or_build(only(kFirst), {.text = kSource});
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::transient);
  api->inner->moods.before_build = {};
  EXPECT_TRUE(programs.get_or_build(only(kFirst), {.text = kSource}));
}

TEST(ProgramCache, UsesWhatHasNoBinaryAndKeepsItOnlyForItsContext) {
  const auto api = open_api();
  Cache cache = Cache::open();
  api->inner->moods.has_no_binaries = true;
  for (int context = 1; context <= 2; ++context) {
    Programs programs(api, &cache);
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(programs.get_or_build(only(kFirst), {.text = kSource}));
    EXPECT_EQ(api->builds, context);
  }
  // Several devices are then built for in one go.
  Programs programs(api, &cache);
  const FakeDevice twins[] = {kFirst, kTwin};
  EXPECT_TRUE(programs.get_or_build(twins, {.text = "kernel other\n"}));
}

TEST(ProgramCache, BuildsAsideWhenTheDriverRefusesEvenItsOwn) {
  const auto api = open_api();
  Cache cache = Cache::open();
  api->inner->moods.refuses_binaries = true;
  Programs programs(api, &cache);
  const FakeDevice twins[] = {kFirst, kTwin};
  ProgramAnswer answer;
  ASSERT_TRUE(programs.get_or_build(twins, {.text = kSource}, &answer));
  EXPECT_EQ(answer.outcome, Outcome::bypassed);
  EXPECT_EQ(answer.reason, Reason::refused);
  EXPECT_NE(answer.why_not.find("refuses its own"), std::string::npos);
}

TEST(ProgramCache, GivesTheMakerNothingButIngredients) {
  const auto api = open_api();
  Programs programs(api);
  const ProgramHeader header{"a.h", "header text"};
  const SpecConstant constant{7, as_bytes("four")};
  const auto program = programs.get_or_build(only(kFirst), {.text = kSource,
                                                            .headers = {&header, 1},
                                                            .constants = {&constant, 1},
                                                            .call_options = {"-DX", "-link"}});
  ASSERT_TRUE(program);
  const Recipe recipe = programs.recipe(kFirst, {.text = kSource,
                                                 .headers = {&header, 1},
                                                 .constants = {&constant, 1},
                                                 .call_options = {"-DX", "-link"}});
  // The fake compiler writes down all that it was given.
  for (const Ingredient& each : recipe.ingredients()) {
    if (each.name == "class" || each.name == "driver") continue;
    const std::string line = std::string(each.name) + "=" + std::string(as_text(each.bytes)) + "\n";
    EXPECT_NE((*program)->handle()->code[0].find(line), std::string::npos) << line;
  }
}

// Every input changed singly is a miss, and the difference names it.
TEST(ProgramCache, EveryInputMattersAndIsNamedByWhy) {
  const ProgramHeader header{"a.h", "1"};
  const ProgramHeader other_header{"a.h", "2"};
  const ProgramHeader renamed_header{"b.h", "1"};
  const SpecConstant constant{7, as_bytes("1")};
  const SpecConstant other_constant{7, as_bytes("2")};
  const SpecConstant renumbered{8, as_bytes("1")};
  const ProgramInput part{.text = "kernel part\n"};
  const ProgramInput other_part{.text = "kernel part \n"};
  const ProgramInput base{.text = kSource, .headers = {&header, 1}, .constants = {&constant, 1}};
  struct Mutation {
    std::string_view named;
    ProgramInput input;
  };
  std::vector<Mutation> mutations(16, {"", base});
  auto change = [&, next = std::size_t{0}](std::string_view named) mutable -> ProgramInput& {
    mutations[next].named = named;
    return mutations[next++].input;
  };
  change("text").text = "kernel k \n";
  change("form").form = ProgramForm::image;
  change("header a.h").headers = {&other_header, 1};
  change("header b.h").headers = {&renamed_header, 1};
  change("header a.h").headers = {};
  change("constant 7").constants = {&other_constant, 1};
  change("constant 8").constants = {&renumbered, 1};
  change("compile-options").image_options.compile = "-DI";
  change("compile-options").call_options.compile = "-DC";
  change("compile-options").environment_options.compile = "-DE";
  change("link-options").image_options.link = "-li";
  change("link-options").call_options.link = "-lc";
  change("link-options").environment_options.link = "-le";
  change("part 0/text").parts = {&part, 1};
  change("part 0/text").parts = {&other_part, 1};
  change("part 0/form").parts = {&part, 1};

  const auto api = open_api();
  Programs programs(api);
  const Recipe base_recipe = programs.recipe(kFirst, base);
  ASSERT_TRUE(programs.get_or_build(only(kFirst), base));
  for (const Mutation& each : mutations) {
    const Recipe recipe = programs.recipe(kFirst, each.input);
    EXPECT_NE(recipe, base_recipe) << each.named;
    const Difference found = difference(base_recipe, recipe);
    const bool is_named = std::any_of(found.changes.begin(), found.changes.end(),
                                      [&](const IngredientChange& one) { return one.name() == each.named; });
    EXPECT_TRUE(is_named) << each.named << '\n' << to_text(found);
  }
  EXPECT_EQ(difference(base_recipe, programs.recipe(kOther, base)).changes.at(0).name(), "class");
  api->inner->moods.driver_version = "1.1";
  EXPECT_EQ(difference(base_recipe, programs.recipe(kFirst, base)).changes.at(0).name(), "driver");
  ProgramAnswer answer;
  ASSERT_TRUE(programs.get_or_build(only(kFirst), base, &answer));
  EXPECT_EQ(answer.outcome, Outcome::made);
}

TEST(ProgramCache, NoTwoSetsOfIngredientsShareARecipe) {
  Programs programs(open_api());
  const ProgramHeader headers[] = {{"a", "b"}, {"ab", ""}};
  EXPECT_NE(programs.recipe(kFirst, {.text = "ab"}),
            programs.recipe(kFirst, {.text = "a", .call_options = {"b", ""}}));
  EXPECT_NE(programs.recipe(kFirst, {.headers = {&headers[0], 1}}),
            programs.recipe(kFirst, {.headers = {&headers[1], 1}}));
  EXPECT_NE(programs.recipe(kFirst, {.call_options = {"a", ""}}),
            programs.recipe(kFirst, {.call_options = {"", "a"}}));
}

TEST(ProgramCache, SaysWhyItCannotKeep) {
  const auto api = open_api();
  const Programs programs(api);
  const auto why = [&](const ProgramInput& input) {
    return programs.is_cacheable(only(kFirst), input).why_not;
  };
  const ProgramInput dated{.text = "kernel k __TIME__\n"};
  EXPECT_EQ(why({.text = kSource}), "");
  EXPECT_NE(why({.form = ProgramForm::interop}).find("interoperation"), std::string::npos);
  EXPECT_NE(why({.text = kSource, .call_options = {.compile = "--dump"}}).find("--dump"), std::string::npos);
  EXPECT_NE(why({.text = "#include <a.h>\n"}).find("headers"), std::string::npos);
  EXPECT_NE(why({.text = "#inc\\\nlude <a.h>\n"}).find("headers"), std::string::npos);
  EXPECT_NE(why({.form = ProgramForm::linked, .parts = {&dated, 1}}).find("__TIME__"), std::string::npos);
  // An image is no text: whatever words happen to be in it.
  EXPECT_EQ(why({.form = ProgramForm::image, .text = "include __DATE__"}), "");
  api->inner->moods.unknown_device = "nobody knows this device";
  EXPECT_EQ(why({.text = kSource}), "nobody knows this device");
}

TEST(ProgramCache, RefusesWhatCanNeverBeBuilt) {
  Programs programs(open_api());
  EXPECT_EQ(programs.get_or_build({}, {.text = kSource}).error().code, Code::invalid_argument);
  EXPECT_EQ(programs.get_or_build(only(kFirst), {.form = ProgramForm::interop}).error().code,
            Code::invalid_argument);
  EXPECT_EQ(programs.get_kernel({}, "k").error().code, Code::invalid_argument);
}

TEST(ProgramCache, LeavesWhatItCannotKeepToWhoAsksForKeptOnesOnly) {
  const auto api = open_api();
  Cache cache = Cache::open();
  Programs programs(api, &cache);
  ProgramAnswer answer;
  const ProgramInput dated{.text = "kernel k __TIME__\n"};
  EXPECT_FALSE(programs.get_or_build_kept(only(kFirst), dated, answer));
  EXPECT_EQ(answer.outcome, Outcome::bypassed);
  EXPECT_EQ(answer.reason, Reason::uncacheable);
  EXPECT_NE(answer.why_not.find("__TIME__"), std::string::npos);
  EXPECT_EQ(api->builds, 0);
  for (const Outcome outcome : {Outcome::made, Outcome::memory_hit}) {
    const auto program = programs.get_or_build_kept(only(kFirst), {.text = kSource}, answer);
    ASSERT_TRUE(program && *program);
    EXPECT_EQ(answer.outcome, outcome);
  }
  EXPECT_EQ(api->builds, 1);
  const auto refused = programs.get_or_build_kept(only(kFirst), {.form = ProgramForm::interop}, answer);
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->error().code, Code::invalid_argument);
}

TEST(ProgramCache, WithoutMemoryAsksTheCacheEachTime) {
  const auto api = open_api();
  Cache cache = Cache::open();
  Programs programs(api, &cache, {.memory = false});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(programs.get_or_build(only(kFirst), {.text = kSource}));
  EXPECT_EQ(api->builds, 1);
  EXPECT_EQ(api->creates, 2);
  EXPECT_EQ(programs.stats().programs, 0u);
}

TEST(ProgramCache, MakesAnewWhatAnotherVersionWrote) {
  const auto api = open_api();
  Cache cache = Cache::open();
  Programs programs(api, &cache);
  cache.put(programs.recipe(kFirst, {.text = kSource}), Bytes(std::string("\x7f of another version")));
  ProgramAnswer answer;
  ASSERT_TRUE(programs.get_or_build(only(kFirst), {.text = kSource}, &answer));
  EXPECT_EQ(answer.outcome, Outcome::made);
  EXPECT_EQ(api->builds, 1);
}

TEST(BuildFailure, TravelsInAnError) {
  const BuildFailure failure{-11, "line 3: no such type\nline 4: (-5): also"};
  const auto back = build_failure(to_error(failure));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->code, failure.code);
  EXPECT_EQ(back->log, failure.log);
  EXPECT_FALSE(build_failure({Code::maker_failed, "another maker's no"}));
  EXPECT_FALSE(build_failure({Code::maker_failed, "build failed (x): "}));
  EXPECT_FALSE(build_failure({Code::io, "build failed (1): "}));
}

TEST(FastKernels, StayBounded) {
  detail::FastKernels fast;
  const auto place = std::make_shared<const int>(1);
  constexpr std::uint64_t kMany = 4 * detail::FastKernels::kBuckets * detail::FastKernels::kBucketMax;
  const std::vector<char> owners(kMany);
  for (std::uint64_t image = 0; image < kMany; ++image) {
    fast.add(&owners[image], image, as_bytes("device"), {}, as_bytes("k"), place);
    detail::Pin pin;
    EXPECT_EQ(fast.find(image, as_bytes("device"), {}, as_bytes("k")), place.get());
  }
  EXPECT_LE(fast.size(), detail::FastKernels::kBuckets * detail::FastKernels::kBucketMax);
  EXPECT_GT(fast.size(), detail::FastKernels::kBuckets);
  for (const char& owner : owners) fast.forget(&owner);
  EXPECT_EQ(fast.size(), 0u);
}

TEST(FastKernels, TheLaterOfTwoWithOneKeyCounts) {
  detail::FastKernels fast;
  const int first_owner = 0;
  const int second_owner = 0;
  const auto first = std::make_shared<const int>(1);
  const auto second = std::make_shared<const int>(2);
  fast.add(&first_owner, 1, as_bytes("d"), as_bytes("c"), as_bytes("k"), first);
  fast.add(&second_owner, 1, as_bytes("d"), as_bytes("c"), as_bytes("k"), second);
  EXPECT_EQ(fast.size(), 1u);
  fast.forget(&first_owner);
  detail::Pin pin;
  EXPECT_EQ(fast.find(1, as_bytes("d"), as_bytes("c"), as_bytes("k")), second.get());
  EXPECT_EQ(fast.find(1, as_bytes("dc"), {}, as_bytes("k")), nullptr);
  EXPECT_EQ(fast.find(1, as_bytes("d"), {}, as_bytes("ck")), nullptr);
}

// Loops that submit, against programs that come and go.
void race(std::chrono::milliseconds length) {
  const auto api = open_api();
  {
    Programs programs(api, nullptr, {.programs = {.count_max = 2}});
    const auto end = std::chrono::steady_clock::now() + length;
    std::vector<std::thread> threads;
    std::atomic<int> bad{0};
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t i = static_cast<std::uint64_t>(t); std::chrono::steady_clock::now() < end; ++i) {
          const std::uint64_t image = i * 7 % 5;
          const std::string name{'k', static_cast<char>('0' + image)};
          const std::string source = "kernel " + name + "\n";
          const auto kernel = programs.get_or_build_fast({.image = image, .device = kFirst, .name = name},
                                                         [&] { return ProgramInput{.text = source}; });
          if (!kernel || (*kernel)->handle()->name != name) ++bad;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(bad, 0);
    EXPECT_LE(programs.stats().programs, 2u);
  }
  EXPECT_EQ(api->alive, 0);
}

TEST(ProgramCache, ServesLoopsWhileProgramsComeAndGo) {
  race(std::chrono::milliseconds(200));
}

TEST(StressProgramCache, ServesLoopsWhileProgramsComeAndGoForAWhile) {
  race(std::chrono::seconds(20));
}

}  // namespace
}  // namespace larder::testing
