#include "cache/negatives.hpp"

#include <gtest/gtest.h>

#include "cache/testing.hpp"

namespace larder {
namespace {

using testing::recipe_of;
using namespace std::chrono_literals;

class NegativesTest : public ::testing::Test {
 protected:
  void fail_at(std::string_view name, Code code = Code::maker_failed) {
    negatives_.remember(recipe_of(name), recipe_of(name).key(), {code, "no: " + std::string(name)});
  }
  std::optional<Error> find(std::string_view name) {
    return negatives_.find(recipe_of(name), recipe_of(name).key());
  }

  FakeClock clock_;
  Negatives negatives_{10s, clock_};
};
using NegativesOf = NegativesTest;

TEST_F(NegativesOf, AShortTimeAreForgottenWhenItIsOver) {
  fail_at("a");
  clock_.advance(10s - 1ns);
  ASSERT_TRUE(find("a"));
  EXPECT_EQ(find("a")->what, "no: a");
  clock_.advance(1ns);
  EXPECT_FALSE(find("a"));
}

TEST_F(NegativesOf, FailuresThatMayPassAreNotRemembered) {
  fail_at("transient", Code::transient);
  fail_at("resources", Code::out_of_resources);
  EXPECT_FALSE(find("transient"));
  EXPECT_FALSE(find("resources"));
}

TEST_F(NegativesOf, OneRecipeSayNothingOfAnotherUnderItsKey) {
  fail_at("a");
  EXPECT_FALSE(negatives_.find(recipe_of("b"), recipe_of("a").key()));
}

TEST_F(NegativesOf, TooManyTheOldestIsForgotten) {
  for (std::size_t i = 0; i <= Negatives::kMax; ++i) fail_at(std::to_string(i));
  EXPECT_FALSE(find("0"));
  EXPECT_TRUE(find("1"));
  EXPECT_TRUE(find(std::to_string(Negatives::kMax)));
}

TEST_F(NegativesOf, OneAreGoneWhenItIsRemovedOrAllAreCleared) {
  fail_at("a");
  fail_at("b");
  negatives_.forget(recipe_of("a"), recipe_of("a").key());
  EXPECT_FALSE(find("a"));
  EXPECT_TRUE(find("b"));
  negatives_.clear();
  EXPECT_FALSE(find("b"));
}

}  // namespace
}  // namespace larder
