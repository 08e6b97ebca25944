#include "base/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace larder {
namespace {

TEST(Number, IsTheWholeTextAndNothingElse) {
  EXPECT_EQ(to_number<unsigned>("0"), 0u);
  EXPECT_EQ(to_number<unsigned>("007"), 7u);
  EXPECT_EQ(to_number<int>("-12"), -12);
  for (const char* const none : {"", " 1", "1 ", "+1", "0x1", "1.0", "one", "-", "--1", "1-"})
    EXPECT_EQ(to_number<int>(none), std::nullopt) << none;
  EXPECT_EQ(to_number<unsigned>("-1"), std::nullopt);
  EXPECT_EQ(to_number<int>(std::string_view("1\0", 2)), std::nullopt);
}

TEST(Number, ThatDoesNotFitIsNone) {
  EXPECT_EQ(to_number<std::uint8_t>("255"), std::uint8_t{255});
  EXPECT_EQ(to_number<std::uint8_t>("256"), std::nullopt);
  EXPECT_EQ(to_number<std::int64_t>("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(to_number<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(to_number<std::uint64_t>("18446744073709551616"), std::nullopt);
}

TEST(Number, OfSixteenHasLettersOfBothKinds) {
  EXPECT_EQ(to_number<unsigned>("fF", 16), 255u);
  EXPECT_EQ(to_number<unsigned>("0xff", 16), std::nullopt);
}

TEST(Number, IsTakenOffTheTextThatItBegins) {
  std::string_view text = "14.0 rest";
  EXPECT_EQ(take_number<int>(text), 14);
  EXPECT_EQ(text, ".0 rest");
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, ".0 rest");
  text = "99999999999 x";
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, "99999999999 x");
}

}  // namespace
}  // namespace larder
