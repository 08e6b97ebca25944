#include "larder/recipe.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "recipe/canonical.hpp"
#include "recipe/key_hash.hpp"
#include "recipe/testing.hpp"

namespace larder {
namespace {

using testing::Named;
using testing::recipe_of;

// Different lists: different bytes, different keys, and neither equals the other.
void expect_different(const Recipe& a, const Recipe& b) {
  EXPECT_NE(a.canonical(), b.canonical());
  EXPECT_NE(a.key(), b.key());
  EXPECT_FALSE(a == b);
}

TEST(Recipe, GivesItsIngredientsBackInOrder) {
  Recipe recipe("opencl-program");
  recipe.add("source", "kernel void f() {}").add("options", "-O2");
  EXPECT_EQ(recipe.kind(), "opencl-program");
  const auto ingredients = recipe.ingredients();
  ASSERT_EQ(ingredients.size(), 2u);
  EXPECT_EQ(ingredients[0].name, "source");
  EXPECT_EQ(as_text(ingredients[0].bytes), "kernel void f() {}");
  EXPECT_EQ(ingredients[1].name, "options");
  EXPECT_EQ(as_text(ingredients[1].bytes), "-O2");
}

TEST(Recipe, EncodesToTheGoldenBytes) {
  Recipe recipe("k");
  recipe.add("ab", "xyz");
  using namespace std::string_view_literals;
  EXPECT_EQ(recipe.canonical(),
            "\x01\x01\0\0\0k"
            "\0\x02\0\0\0\x03\0\0\0\0\0\0\0abxyz"sv);
  EXPECT_EQ(recipe.key().hex(), "b9cdaf203326eed6a63cb78858b9d79c");
}

TEST(Recipe, KeepsOnlyTheDigestOfALargeIngredient) {
  const std::string large(kIngredientInlineMax + 1, 'x');
  Recipe recipe("k");
  recipe.add("large", large);
  const auto ingredients = recipe.ingredients();
  ASSERT_EQ(ingredients.size(), 1u);
  EXPECT_TRUE(ingredients[0].is_digest);
  EXPECT_EQ(ingredients[0].size, large.size());
  EXPECT_EQ(ingredients[0].bytes.size(), 32u);
  EXPECT_LT(recipe.canonical().size(), 100u);
  const std::string largest(kIngredientInlineMax, 'x');
  EXPECT_FALSE(recipe.add("inline", largest).ingredients()[1].is_digest);
}

TEST(Recipe, IsNotTakenForOneThatNamesTheDigestOfItsLargeIngredient) {
  const std::string large(kIngredientInlineMax + 1, 'x');
  Recipe honest("k");
  honest.add("large", large);
  Recipe forged("k");
  forged.add("large", honest.ingredients()[0].bytes);
  expect_different(honest, forged);
  std::string changed = large;
  changed.back() = 'y';
  expect_different(honest, Recipe("k").add("large", changed));
}

TEST(Recipe, DiffersWhenSourceAndOptionsAreExchanged) {
  expect_different(recipe_of("k", {{"", "source"}, {"", "options"}}),
                   recipe_of("k", {{"", "options"}, {"", "source"}}));
  expect_different(recipe_of("k", {{"source", "a"}, {"options", "b"}}),
                   recipe_of("k", {{"source", "b"}, {"options", "a"}}));
  expect_different(recipe_of("k", {{"source", "a"}, {"options", "b"}}),
                   recipe_of("k", {{"options", "b"}, {"source", "a"}}));
}

TEST(Recipe, DiffersWhenAnOptionIsGivenTwiceOnceOrNot) {
  const Recipe none = recipe_of("k", {{"source", "s"}});
  const Recipe once = recipe_of("k", {{"source", "s"}, {"option", "-g"}});
  const Recipe twice = recipe_of("k", {{"source", "s"}, {"option", "-g"}, {"option", "-g"}});
  expect_different(none, once);
  expect_different(once, twice);
  expect_different(none, twice);
}

TEST(Recipe, DiffersWhenCharactersMoveAcrossABorder) {
  expect_different(recipe_of("k", {{"a", "bc"}, {"d", "e"}}), recipe_of("k", {{"a", "b"}, {"cd", "e"}}));
  expect_different(recipe_of("k", {{"ab", "c"}}), recipe_of("k", {{"a", "bc"}}));
  expect_different(recipe_of("ka", {{"b", "c"}}), recipe_of("k", {{"ab", "c"}}));
  expect_different(recipe_of("k", {{"x", "-DA -DB"}}), recipe_of("k", {{"x", "-DA"}, {"x", "-DB"}}));
}

TEST(Recipe, DiffersByLeadingAndTrailingNuls) {
  using namespace std::string_literals;
  expect_different(recipe_of("k", {{"x", "a"}}), recipe_of("k", {{"x", "\0a"s}}));
  expect_different(recipe_of("k", {{"x", "\0a"s}}), recipe_of("k", {{"x", "\0\0a"s}}));
  expect_different(recipe_of("k", {{"x", "a"}}), recipe_of("k", {{"x", "a\0"s}}));
  expect_different(recipe_of("k", {{"x", ""}}), recipe_of("k", {{"x", "\0"s}}));
}

TEST(Recipe, DiffersWhenOnlyALengthDiffers) {
  for (std::size_t size = 0; size < 300; ++size) {
    expect_different(recipe_of("k", {{"x", std::string(size, '\0')}}),
                     recipe_of("k", {{"x", std::string(size + 1, '\0')}}));
  }
}

TEST(Recipe, DiffersWhenAnEmptyIngredientIsThere) {
  expect_different(recipe_of("k", {}), recipe_of("k", {{"", ""}}));
  expect_different(recipe_of("k", {{"", ""}}), recipe_of("k", {{"", ""}, {"", ""}}));
}

// A value that contains the encoding of an ingredient is still a value.
TEST(Recipe, IsNotFooledByAnIngredientThatLooksLikeAnEncoding) {
  const Recipe two = recipe_of("k", {{"a", "b"}, {"c", "d"}});
  const std::size_t second = two.canonical().size() - (1 + 4 + 8 + 1 + 1);
  Recipe one("k");
  one.add("a", "b" + std::string(two.canonical().substr(second)));
  expect_different(two, one);
}

rc::Gen<Named> ingredient_lists() {
  // Few different bytes, among them those that lengths are made of, so that near collisions are common.
  const auto text = rc::gen::container<std::string>(rc::gen::element('\0', '\1', '\2', 'a', 'b'));
  return rc::gen::container<Named>(rc::gen::pair(text, text));
}

RC_GTEST_PROP(Recipe, SharesItsEncodingWithNoOtherList, ()) {
  const auto a = *ingredient_lists();
  const auto b = *ingredient_lists();
  RC_ASSERT((a == b) == (recipe_of("k", a).canonical() == recipe_of("k", b).canonical()));
}

RC_GTEST_PROP(Recipe, SharesItsEncodingWithNoListOneEditAway, ()) {
  Named list = *rc::gen::nonEmpty(ingredient_lists());
  const Named before = list;
  const auto place = *rc::gen::inRange<std::size_t>(0, list.size());
  auto& [name, text] = list[place];
  switch (*rc::gen::inRange(0, 6)) {
    case 0:
      list.push_back(list[place]);
      break;
    case 1:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(place));
      break;
    case 2:
      std::swap(name, text);
      break;
    case 3:
      text += name, name.clear();
      break;
    case 4:
      std::swap(list.front(), list.back());
      break;
    default:
      text.push_back('\0');
      break;
  }
  RC_ASSERT((before == list) == (recipe_of("k", before).canonical() == recipe_of("k", list).canonical()));
}

RC_GTEST_PROP(Recipe, ComesBackFromItsCanonicalBytes, (const std::string& kind)) {
  const Recipe recipe = recipe_of(kind, *ingredient_lists());
  const auto read = Recipe::from_canonical(recipe.canonical());
  RC_ASSERT(read.has_value());
  RC_ASSERT(*read == recipe);
  Recipe again(read->kind());
  for (const Ingredient& one : read->ingredients()) again.add(one.name, one.bytes);
  RC_ASSERT(again == recipe);
}

Recipe small_recipe() {
  return recipe_of("kind", {{"source", "f()"}, {"", ""}, {"option", std::string("\0-g", 3)}});
}

TEST(Recipe, IsNeverReadFromATruncation) {
  const Recipe recipe = small_recipe();
  for (std::size_t size = 0; size < recipe.canonical().size(); ++size) {
    const auto read = Recipe::from_canonical(recipe.canonical().substr(0, size));
    if (read) {
      EXPECT_FALSE(*read == recipe);
      EXPECT_LT(read->ingredients().size(), recipe.ingredients().size());
    } else {
      EXPECT_EQ(read.error().code, Code::damaged);
    }
  }
  EXPECT_FALSE(Recipe::from_canonical(std::string(recipe.canonical()) + '\0'));
}

TEST(Recipe, IsNeverReadFromAFlippedBit) {
  Recipe recipe = small_recipe();
  recipe.add("large", std::string(kIngredientInlineMax + 1, 'x'));
  for (std::size_t bit = 0; bit < recipe.canonical().size() * 8; ++bit) {
    std::string damaged(recipe.canonical());
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    const auto read = Recipe::from_canonical(damaged);
    if (!read) continue;
    EXPECT_FALSE(*read == recipe) << bit;
    EXPECT_NE(read->key(), recipe.key()) << bit;
    EXPECT_EQ(read->canonical(), damaged) << bit;
  }
}

TEST(Recipe, TakesViewsOfItself) {
  Recipe recipe("kind");
  recipe.add("name", std::string(100, 'x'));
  for (int i = 0; i < 50; ++i) {  // the bytes move now and then
    const Ingredient last = recipe.ingredients().back();
    recipe.add(last.name, last.bytes);
  }
  for (const Ingredient& one : recipe.ingredients()) {
    EXPECT_EQ(one.name, "name");
    EXPECT_EQ(as_text(one.bytes), std::string(100, 'x'));
  }
}

TEST(Recipe, RefusesANameWhoseLengthHasNoEncodingAndStaysAsItWas) {
  // Never read: only its length is looked at.
  const std::string_view endless("x", std::size_t{1} << 32);
  EXPECT_THROW(Recipe{endless}, std::length_error);
  Recipe recipe = small_recipe();
  EXPECT_THROW(recipe.add(endless, "x"), std::length_error);
  EXPECT_TRUE(recipe == small_recipe());
}

TEST(Recipe, IsEmptyOnceMovedFrom) {
  Recipe recipe = recipe_of("a kind that is too long to be kept inside of a string object", {{"a", "b"}});
  const Recipe taken = std::move(recipe);
  EXPECT_EQ(recipe.kind(), "");  // NOLINT(bugprone-use-after-move): it is what is tested
  EXPECT_TRUE(recipe.ingredients().empty());
  EXPECT_EQ(taken.ingredients().size(), 1u);
  EXPECT_EQ(recipe, Recipe(""));
  EXPECT_EQ(recipe.key(), Recipe("").key());
  EXPECT_TRUE(Recipe::from_canonical(recipe.canonical()));
  recipe.add("a", "b");
  EXPECT_EQ(recipe, recipe_of("", {{"a", "b"}}));
  EXPECT_TRUE(Recipe::from_canonical(recipe.canonical()));
}

TEST(TestHash, ForcesDifferentRecipesOntoOneKey) {
  const Recipe a = recipe_of("k", {{"x", "a"}});
  const Recipe b = recipe_of("k", {{"x", "b"}});
  const Key before = a.key();
  {
    const TestHash collide(TestHash::same_for_all);
    EXPECT_EQ(a.key(), b.key());
    EXPECT_FALSE(a == b);
  }
  EXPECT_EQ(a.key(), before);
  EXPECT_NE(a.key(), b.key());
}

}  // namespace
}  // namespace larder
