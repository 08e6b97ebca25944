#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "cache/testing.hpp"
#include "larder/difference.hpp"
#include "program/opengl/binaries.hpp"
#include "program/opengl/context_identity.hpp"
#include "program/opengl/known_shaders.hpp"
#include "program/opengl/link_recipe.hpp"

namespace larder::testing {
namespace {

using opengl::ContextFacts;
using opengl::InfoLog;
using opengl::KnownShaders;
using opengl::LinkAnswer;
using opengl::LinkedPrograms;
using opengl::LinkOptions;
using opengl::ProgramBinary;
using opengl::ShaderInput;

constexpr std::uint32_t kVertex = 0x8B31;
constexpr std::uint32_t kFragment = 0x8B30;

ShaderInput shader(std::uint32_t kind, const std::vector<std::string_view>& strings) {
  return {kind, opengl::to_source(strings), nullptr};
}
ShaderInput including(std::map<std::string, std::string> named, std::vector<std::string> paths = {"/"}) {
  ShaderInput input = shader(kVertex, {"#include </a>"});
  input.includes = std::make_shared<opengl::Includes>(opengl::Includes{std::move(named), std::move(paths)});
  return input;
}

// What a program is linked from, with something of everything.
struct Everything {
  DeviceIdentity identity{{{"vendor", "somebody"}, {"driver-build", "libx 1"}}, {}};
  std::vector<ShaderInput> shaders{shader(kVertex, {"vertex text"}), shader(kFragment, {"fragment", " text"}),
                                   including({{"/a", "text"}})};
  LinkOptions options{.attributes = {{"at", 1}},
                      .outputs = {{"colour", {0, 0}}},
                      .feedback_mode = 1,
                      .feedback = {"one", "two"},
                      .is_separable = false,
                      .is_retrievable = false};
  Recipe recipe() const { return opengl::program_recipe(identity, shaders, options); }
};

struct LinkMutation {
  const char* named;  // what the difference calls it
  void (*change)(Everything&);
};

TEST(OpenglRecipe, EveryInputMattersAndIsNamedByWhy) {
  const LinkMutation kAll[] = {
      {"vendor", [](Everything& all) { all.identity.facts[0].second = "other"; }},
      {"driver-build", [](Everything& all) { all.identity.facts[1].second = "libx 2"; }},
      {"shader 0/text", [](Everything& all) { all.shaders[0] = shader(kVertex, {"vertex text "}); }},
      {"shader 1/text",
       [](Everything& all) {
         all.shaders[1] = shader(kFragment, {"fragment", " texT"});
       }},
      {"shader 0/kind", [](Everything& all) { all.shaders[0].kind = kFragment; }},
      {"shader 1/strings",
       [](Everything& all) {
         all.shaders[1] = shader(kFragment, {"fragment ", "text"});
       }},
      {"shader 3/text", [](Everything& all) { all.shaders.push_back(shader(kFragment, {""})); }},
      {"attribute at", [](Everything& all) { all.options.attributes["at"] = 2; }},
      {"attribute other", [](Everything& all) { all.options.attributes["other"] = 1; }},
      {"output colour",
       [](Everything& all) {
         all.options.outputs["colour"] = {1, 0};
       }},
      {"output colour",
       [](Everything& all) {
         all.options.outputs["colour"] = {0, 1};
       }},
      {"feedback-mode", [](Everything& all) { all.options.feedback_mode = 2; }},
      {"feedback-varying",
       [](Everything& all) {
         all.options.feedback = {"two", "one"};
       }},
      {"feedback-varying", [](Everything& all) { all.options.feedback = {"one"}; }},
      {"separable", [](Everything& all) { all.options.is_separable = true; }},
      {"retrievable", [](Everything& all) { all.options.is_retrievable = true; }},
      {"made-by", [](Everything& all) { all.options.is_of_one_call = true; }},
      {"shader 2/named-string /a",
       [](Everything& all) {
         all.shaders[2] = including({{"/a", "text "}});
       }},
      {"shader 2/named-string /a", [](Everything& all) { all.shaders[2] = including({}); }},
      {"shader 2/named-string /b",
       [](Everything& all) {
         all.shaders[2] = including({{"/a", "text"}, {"/b", ""}});
       }},
      {"shader 2/include-path",
       [](Everything& all) {
         all.shaders[2] = including({{"/a", "text"}}, {"/else"});
       }},
  };
  const Recipe before = Everything().recipe();
  for (const LinkMutation& mutation : kAll) {
    Everything all;
    mutation.change(all);
    const Recipe after = all.recipe();
    EXPECT_NE(before.key(), after.key()) << mutation.named;
    bool is_named = false;
    for (const IngredientChange& each : difference(before, after).changes)
      is_named = is_named || each.name() == mutation.named;
    EXPECT_TRUE(is_named) << mutation.named << '\n' << to_text(difference(before, after));
  }
  EXPECT_EQ(before.key(), Everything().recipe().key());
}

TEST(OpenglRecipe, TheOrderInWhichNamesAreBoundIsNone) {
  Everything one;
  Everything two;
  one.options.attributes = {{"a", 1}, {"b", 2}};
  two.options.attributes.clear();
  two.options.attributes["b"] = 2;
  two.options.attributes["a"] = 1;
  EXPECT_EQ(one.recipe(), two.recipe());
}

TEST(OpenglRecipe, AShaderIsAnotherByItsKindItsTextAndItsDriver) {
  const Everything all;
  const Recipe recipe = opengl::shader_recipe(all.identity, shader(kVertex, {"text"}));
  EXPECT_NE(recipe, opengl::shader_recipe(all.identity, shader(kFragment, {"text"})));
  EXPECT_NE(recipe, opengl::shader_recipe(all.identity, shader(kVertex, {"Text"})));
  EXPECT_NE(recipe, opengl::shader_recipe(all.identity, shader(kVertex, {"te", "xt"})));
  EXPECT_NE(recipe, opengl::shader_recipe({}, shader(kVertex, {"text"})));
  EXPECT_EQ(recipe, opengl::shader_recipe(all.identity, shader(kVertex, {"text"})));
}

TEST(OpenglRecipe, NamedStringsDecideNothingWhereNothingIsIncluded) {
  ShaderInput input = shader(kVertex, {"text"});
  input.includes = including({{"/a", "text"}}).includes;
  EXPECT_EQ(opengl::shader_recipe({}, input), opengl::shader_recipe({}, shader(kVertex, {"text"})));
}

TEST(OpenglRecipe, SaysWhyAProgramCannotBeKept) {
  EXPECT_NE(opengl::why_not({}), "");
  EXPECT_NE(opengl::why_not({{kVertex, nullptr, nullptr}}), "");
  EXPECT_NE(opengl::why_not({shader(kVertex, {"#inc", "lude </a>"})}), "");
  EXPECT_NE(opengl::why_not({shader(kVertex, {"#inc\\\nlude </a>"})}), "");
  EXPECT_EQ(opengl::why_not({including({})}), "");
  EXPECT_EQ(opengl::why_not({shader(kVertex, {"void main() {}"})}), "");
}

ContextFacts facts() {
  return {"vendor", "llvmpipe", "4.5", "4.50", 1, 0};
}

const std::string* fact(const DeviceIdentity& identity, std::string_view name) {
  for (const auto& [known, value] : identity.facts) {
    if (known == name) return &value;
  }
  return nullptr;
}

TEST(OpenglIdentity, HoldsTheDriversBuildAndTheProcessorItCompilesFor) {
  const DeviceIdentity identity =
      opengl::context_identity(facts(), reinterpret_cast<const void*>(&std::abort));
  EXPECT_EQ(identity.why_not, "");
  ASSERT_NE(fact(identity, "driver-build"), nullptr);
  EXPECT_NE(fact(identity, "driver-build")->find("libc.so"), std::string::npos);
  EXPECT_NE(fact(identity, "processor"), nullptr);
  ContextFacts other = facts();
  other.renderer = "some GPU";
  EXPECT_EQ(fact(opengl::context_identity(other, reinterpret_cast<const void*>(&std::abort)), "processor"),
            nullptr);
}

TEST(OpenglIdentity, ChangesWithWhatTheDriverReadsAndWithNothingElse) {
  const auto identity = [] {
    return opengl::context_identity(facts(), reinterpret_cast<const void*>(&std::abort));
  };
  const ScratchDirectory scratch;
  ::setenv("HOME", scratch.path().c_str(), 1);
  const DeviceIdentity before = identity();
  for (const char* const name :
       {"MESA_EXTENSION_OVERRIDE", "LP_DEBUG", "force_glsl_version", "__GL_NoDsoFinalizer"}) {
    ::setenv(name, "1", 1);
    EXPECT_NE(before, identity()) << name;
    ::unsetenv(name);
  }
  for (const char* const name : {"MESA_SHADER_CACHE_DIR", "MESA_SHADER_CACHE_DISABLE", "SOMETHING_ELSE"}) {
    ::setenv(name, "1", 1);
    EXPECT_EQ(before, identity()) << name;
    ::unsetenv(name);
  }
  std::ofstream(scratch.path() + "/.drirc") << "<driconf/>";
  EXPECT_NE(before, identity());
}

TEST(OpenglIdentity, IsNoneWithoutANameOrADriver) {
  EXPECT_NE(opengl::context_identity({}, reinterpret_cast<const void*>(&std::abort)).why_not, "");
  EXPECT_NE(opengl::context_identity(facts(), nullptr).why_not, "");
}

// A driver whose programs are numbers.
class LinkedProgramsTest : public ::testing::Test {
 protected:
  LinkAnswer ask(const Recipe& recipe) {
    return programs_.get_or_link(
        recipe, {},
        [this](const ProgramBinary& binary) {
          ++offered_;
          if (refusals_ > 0) return --refusals_, false;
          taken_ = binary;
          return true;
        },
        [this]() -> std::optional<ProgramBinary> {
          ++links_;
          if (!links_well_) return std::nullopt;
          return ProgramBinary{
              7, Bytes(has_binaries_ ? "code" + std::to_string(links_) : ""), {9, "a warning"}};
        });
  }

  const Recipe recipe_ = Everything().recipe();
  const ScratchDirectory scratch_;
  Cache cache_ = Cache::open(options_in(scratch_));
  LinkedPrograms programs_{cache_};
  ProgramBinary taken_;
  int offered_ = 0;
  int links_ = 0;
  int refusals_ = 0;
  bool links_well_ = true;
  bool has_binaries_ = true;
};

TEST_F(LinkedProgramsTest, LinksOnAMissAndTakesTheBinaryWithItsLogAfterwards) {
  const LinkAnswer made = ask(recipe_);
  EXPECT_TRUE(made.was_linked);
  EXPECT_EQ(made.outcome, Outcome::made);
  const LinkAnswer hit = ask(recipe_);
  EXPECT_FALSE(hit.was_linked);
  EXPECT_EQ(hit.log, (InfoLog{9, "a warning"}));
  EXPECT_EQ(taken_.format, 7u);
  EXPECT_EQ(taken_.bytes.text(), "code1");
  EXPECT_EQ(links_, 1);
}

TEST_F(LinkedProgramsTest, RemovesABinaryThatTheDriverRefusesAndLinksAgain) {
  ask(recipe_);
  refusals_ = 1;
  const LinkAnswer answer = ask(recipe_);
  EXPECT_TRUE(answer.was_linked);
  EXPECT_EQ(answer.outcome, Outcome::made);
  EXPECT_EQ(answer.reason, Reason::refused);
  EXPECT_EQ(links_, 2);
  EXPECT_FALSE(ask(recipe_).was_linked);
  EXPECT_EQ(taken_.bytes.text(), "code2");
}

TEST_F(LinkedProgramsTest, RemembersNoLinkersNo) {
  links_well_ = false;
  EXPECT_EQ(ask(recipe_).outcome, Outcome::failed);
  EXPECT_EQ(ask(recipe_).outcome, Outcome::failed);
  EXPECT_EQ(links_, 2);
  links_well_ = true;
  EXPECT_EQ(ask(recipe_).outcome, Outcome::made);
}

TEST_F(LinkedProgramsTest, KeepsNothingOfADriverThatGivesNoBinary) {
  has_binaries_ = false;
  const LinkAnswer answer = ask(recipe_);
  EXPECT_TRUE(answer.was_linked);
  EXPECT_NE(answer.why_not, "");
  EXPECT_TRUE(ask(recipe_).was_linked);
  EXPECT_EQ(offered_, 0);
}

TEST_F(LinkedProgramsTest, MakesAnewWhatAnotherVersionWrote) {
  ASSERT_TRUE(cache_.put(recipe_, Bytes(std::string("no product at all"))));
  EXPECT_TRUE(ask(recipe_).was_linked);
  EXPECT_EQ(offered_, 0);
  EXPECT_FALSE(ask(recipe_).was_linked);
}

class KnownShadersTest : public ::testing::Test {
 protected:
  const ScratchDirectory scratch_;
  Cache cache_ = Cache::open(options_in(scratch_));
  KnownShaders shaders_{cache_};
  const DeviceIdentity driver_ = Everything().identity;
  const DeviceIdentity other_driver_{{{"vendor", "somebody"}, {"driver-build", "libx 2"}}, {}};
  const ShaderInput quiet_ = shader(kVertex, {"quiet"});
  const ShaderInput loud_ = shader(kVertex, {"loud"});
};

TEST_F(KnownShadersTest, KnowWhatCompiledAndWhatWasSaid) {
  EXPECT_FALSE(shaders_.find(driver_, quiet_));
  shaders_.add(driver_, quiet_, {}, std::chrono::milliseconds(1));
  shaders_.add(driver_, loud_, {8, "warning"}, std::chrono::milliseconds(1));
  EXPECT_EQ(shaders_.find(driver_, quiet_), InfoLog{});
  EXPECT_EQ(shaders_.find(driver_, loud_), (InfoLog{8, "warning"}));
  EXPECT_FALSE(KnownShaders(cache_).find(driver_, quiet_));
  shaders_.keep();
  KnownShaders later(cache_);
  EXPECT_EQ(later.find(driver_, quiet_), InfoLog{});
  EXPECT_EQ(later.find(driver_, loud_), (InfoLog{8, "warning"}));
}

TEST_F(KnownShadersTest, AreAnothersByDriverKindTextAndStrings) {
  shaders_.add(driver_, quiet_, {}, {});
  EXPECT_FALSE(shaders_.find(other_driver_, quiet_));
  EXPECT_FALSE(shaders_.find(driver_, shader(kFragment, {"quiet"})));
  EXPECT_FALSE(shaders_.find(driver_, shader(kVertex, {"Quiet"})));
  EXPECT_FALSE(shaders_.find(driver_, shader(kVertex, {"qui", "et"})));
}

TEST_F(KnownShadersTest, OfSeveralProcessesAllStay) {
  KnownShaders other(cache_);
  EXPECT_FALSE(other.find(driver_, quiet_));
  shaders_.add(driver_, quiet_, {}, {});
  other.add(driver_, loud_, {}, {});
  shaders_.keep();
  other.keep();
  KnownShaders later(cache_);
  EXPECT_TRUE(later.find(driver_, quiet_));
  EXPECT_TRUE(later.find(driver_, loud_));
}

TEST_F(KnownShadersTest, BeginAnewWhenTheyAreTooManyOrNotWhatWasWritten) {
  Recipe index("opengl-shaders");
  for (const auto& [name, value] : driver_.facts) index.add(name, value);
  ASSERT_TRUE(cache_.put(index, Bytes(std::string(33, 'x'))));
  EXPECT_FALSE(shaders_.find(driver_, quiet_));
  std::string full;
  for (std::uint32_t i = 0; i < 16384; ++i) {
    full += std::string(28, 'x');
    full.append(reinterpret_cast<const char*>(&i), sizeof i);
  }
  ASSERT_TRUE(
      cache_.put(index, Bytes(std::move(full)), {.cost = {}, .log = {}, .texts = {}, .replace = true}));
  shaders_.add(driver_, quiet_, {}, {});
  shaders_.keep();
  EXPECT_EQ(cache_.get(index)->bytes.size(), 32u);
}

}  // namespace
}  // namespace larder::testing
