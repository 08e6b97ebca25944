#include "settings/units.hpp"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include "settings/suggest.hpp"

namespace larder::settings {
namespace {

using std::chrono::nanoseconds;
using namespace std::chrono_literals;

TEST(Units, ReadSizesAsPeopleWriteThem) {
  EXPECT_EQ(to_size("10G").value(), 10ull << 30);
  EXPECT_EQ(to_size("10GiB").value(), 10ull << 30);
  EXPECT_EQ(to_size("10gib").value(), 10ull << 30);
  EXPECT_EQ(to_size("10GB").value(), 10'000'000'000u);
  EXPECT_EQ(to_size(" 512 MiB ").value(), 512u << 20);
  EXPECT_EQ(to_size("1.5K").value(), 1536u);
  EXPECT_EQ(to_size("0").value(), 0u);
  EXPECT_EQ(to_size("7").value(), 7u);
  EXPECT_EQ(to_size("7B").value(), 7u);
  EXPECT_EQ(to_size("18446744073709551615").value(), ~std::uint64_t{0});
}

TEST(Units, RefuseWhatIsNoSizeAndSayWhatToWrite) {
  for (const char* text : {"", "G", "-1", "ten", "10Q", "10 G B", "1.", "1.G", ".5G", "10GiBs",
                           "18446744073709551616", "20000000P", "0x10", "1e9"}) {
    const auto size = to_size(text);
    ASSERT_FALSE(size.has_value()) << text;
    EXPECT_EQ(size.error().code, Code::invalid_argument);
  }
  EXPECT_EQ(to_size("10Q").error().what,
            "`10Q` has the unknown unit `Q`; write B, K, M, G, T or P, such as 10G");
}

TEST(Units, ReadDurationsAsPeopleWriteThem) {
  EXPECT_EQ(to_duration("7d").value(), 24h * 7);
  EXPECT_EQ(to_duration("1h30min").value(), 90min);
  EXPECT_EQ(to_duration("1h 30m").value(), 90min);
  EXPECT_EQ(to_duration("1.5s").value(), 1500ms);
  EXPECT_EQ(to_duration("0").value(), 0s);
  EXPECT_EQ(to_duration("250ms").value(), 250ms);
  EXPECT_EQ(to_duration("2w").value(), 24h * 14);
}

TEST(Units, RefuseWhatIsNoDuration) {
  for (const char* text :
       {"", "7", "d", "7 days!", "7x", "-1s", "300y", "1000000w", "99999999999999999999d", "1h30"}) {
    EXPECT_FALSE(to_duration(text).has_value()) << text;
  }
}

TEST(Units, ReadSwitches) {
  for (const char* yes : {"on", "1", "true", "YES"}) EXPECT_TRUE(to_boolean(yes).value()) << yes;
  for (const char* no : {"off", "0", "false", "No"}) EXPECT_FALSE(to_boolean(no).value()) << no;
  EXPECT_FALSE(to_boolean("2").has_value());
  EXPECT_FALSE(to_boolean("").has_value());
}

TEST(Units, ReadCountsAndPercentages) {
  EXPECT_EQ(to_count("1000").value(), 1000u);
  EXPECT_FALSE(to_count("1k").has_value());
  EXPECT_FALSE(to_count("").has_value());
  EXPECT_FALSE(to_count("18446744073709551616").has_value());
  EXPECT_EQ(to_percent("95%").value(), 95u);
  EXPECT_EQ(to_percent("50").value(), 50u);
  EXPECT_FALSE(to_percent("101%").has_value());
  EXPECT_FALSE(to_percent("%").has_value());
}

RC_GTEST_PROP(Units, WriteSizesThatReadBackTheSame, (std::uint64_t bytes)) {
  RC_ASSERT(to_size(exact_size(bytes)).value() == bytes);
}

RC_GTEST_PROP(Units, WriteDurationsThatReadBackTheSame, (std::uint64_t ns)) {
  const nanoseconds duration(static_cast<std::int64_t>(ns >> 1));
  RC_ASSERT(to_duration(exact_duration(duration)).value() == duration);
}

TEST(Units, WriteTheUnitsPeopleThinkIn) {
  EXPECT_EQ(exact_size(8ull << 30), "8GiB");
  EXPECT_EQ(exact_duration(24h * 7), "7d");
  EXPECT_EQ(exact_duration(90s), "90s");
  EXPECT_EQ(readable_size(312), "312 B");
  EXPECT_EQ(readable_size(8ull << 30), "8.0 GiB");
  EXPECT_EQ(readable_size((1ull << 30) - 1), "1.0 GiB");
  EXPECT_EQ(readable_size(312ull << 20), "312 MiB");
  EXPECT_EQ(readable_duration(1500ms), "1.5 s");
  EXPECT_EQ(readable_duration(0s), "0 s");
  EXPECT_EQ(readable_duration(24h * 30), "30 d");
}

TEST(Suggest, NamesTheNearestWord) {
  const std::string_view words[] = {"stats", "show", "clear", "config", "completions"};
  EXPECT_EQ(nearest_word("stast", words), "stats");
  EXPECT_EQ(nearest_word("cler", words), "clear");
  EXPECT_EQ(nearest_word("compl", words), "completions");
  EXPECT_EQ(nearest_word("xyzzy", words), "");
  EXPECT_EQ(nearest_word("", words), "");
  EXPECT_EQ(distance("ab", "ba"), 1u);
  EXPECT_EQ(did_you_mean("shwo", words), "; did you mean `show`?");
}

}  // namespace
}  // namespace larder::settings
