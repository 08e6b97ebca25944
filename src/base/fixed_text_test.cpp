#include "base/fixed_text.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <type_traits>

namespace larder {
namespace {

constexpr std::string_view kWord = "word";
constexpr std::array<FixedText<8>, 3> kTexts = {"", kWord, "12345678"};

static_assert(std::is_trivially_copyable_v<FixedText<8>>);
static_assert(sizeof(FixedText<8>) == 9, "no pointer lies in it");

TEST(FixedText, IsTheTextItWasMadeFrom) {
  EXPECT_TRUE(kTexts[0].empty());
  EXPECT_EQ(kTexts[1].view(), "word");
  EXPECT_EQ(kTexts[2].size(), 8u);
  EXPECT_EQ(std::string(kTexts[2]), "12345678");
}

TEST(FixedText, ComparesAsText) {
  EXPECT_TRUE(kTexts[1] == kWord);
  EXPECT_TRUE(kTexts[1] == "word");
  EXPECT_FALSE(kTexts[1] == "wor");
  EXPECT_FALSE(kTexts[1] == kTexts[2]);
  EXPECT_TRUE(kTexts[0] == FixedText<8>());
}

TEST(FixedText, KeepsZeroBytes) {
  const FixedText<4> text(std::string_view("a\0b", 3));
  EXPECT_EQ(text.view(), std::string_view("a\0b", 3));
}

// What lies behind it moves with it.
TEST(FixedText, ACopyHasItsOwnCharacters) {
  FixedText<8> text = kTexts[1];
  const FixedText<8> copy = text;
  text = "other";
  EXPECT_EQ(copy.view(), "word");
  EXPECT_EQ(text.view(), "other");
}

TEST(FixedTextDeathTest, HoldsNoMoreThanItsSize) {
  const std::string text = "123456789";
  EXPECT_DEATH(FixedText<8>{text}, "");
}

}  // namespace
}  // namespace larder
