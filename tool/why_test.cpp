#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cache/misses.hpp"
#include "tool/shown.hpp"
#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Why = StoreToolTest;
using Parsed = nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST_F(Why, ShowsTheIngredientThatDiffersFromTheNearestKeptEntry) {
  Recipe far("test-kind");
  far.add("name", "other").add("options", "-g").add("more", "x");
  request(far);
  request(recipe("kernel", "-O2"));
  request(recipe("kernel", "-O3"));
  ASSERT_EQ(larder({"why"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr(first(recipe("kernel", "-O3").key()) + " test-kind"));
  EXPECT_THAT(out, HasSubstr("by tester, absent: nothing was known of it"));
  EXPECT_THAT(out, HasSubstr("it is kept now"));
  EXPECT_THAT(out, HasSubstr("nearest kept entry: " + first(recipe("kernel", "-O2").key())));
  EXPECT_THAT(out, HasSubstr("differs from it in 1 ingredient:"));
  EXPECT_THAT(out, HasSubstr("options"));
  EXPECT_THAT(out, HasSubstr("-O2"));
  EXPECT_THAT(out, HasSubstr("-O3"));
  EXPECT_THAT(out, Not(HasSubstr("kernel\"")));

  ASSERT_EQ(larder({"why", "last", "--json"}), kDone) << err;
  const Parsed json = Parsed::parse(out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["miss"]["key"], recipe("kernel", "-O3").key().hex());
  EXPECT_EQ(json["miss"]["reason"], "absent");
  EXPECT_EQ(json["miss"]["program"], "tester");
  EXPECT_EQ(json["is_kept_now"], true);
  EXPECT_EQ(json["nearest"]["key"], recipe("kernel", "-O2").key().hex());
  EXPECT_EQ(json["nearest"]["is_later"], false);
  ASSERT_EQ(json["nearest"]["changes"].size(), 1u);
  const Parsed& change = json["nearest"]["changes"][0];
  EXPECT_EQ(change["change"], "changed");
  EXPECT_EQ(change["name"], "options");
  EXPECT_EQ(change["before"]["text"], "-O2");
  EXPECT_EQ(change["after"]["text"], "-O3");
}

TEST_F(Why, ShowsTheLinesInWhichLargeIngredientsDiffer) {
  std::string before;
  for (int i = 0; before.size() < 90'000; ++i) before += "line " + std::to_string(i) + '\n';
  std::string after = before;
  after.replace(after.find("line 4000\n"), 9, "changed!!");
  Recipe first("test-kind"), second("test-kind");
  first.add("source", before);
  second.add("source", after);
  {
    Cache cache = Cache::open(options());
    for (const auto& [recipe, text] : {std::pair(&first, &before), std::pair(&second, &after)}) {
      const Text texts[] = {{"source", *text}};
      ASSERT_TRUE(cache.get_or_make(*recipe, [] { return std::string("made"); }, {.texts = texts}));
    }
  }
  ASSERT_EQ(larder({"why"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("- line 4000\n"));
  EXPECT_THAT(out, HasSubstr("+ changed!!\n"));
  EXPECT_THAT(out, Not(HasSubstr("line 10\n")));
  EXPECT_LT(out.size(), 20'000u);
  ASSERT_EQ(larder({"why", "--json"}), kDone) << err;
  const Parsed change = Parsed::parse(out)["nearest"]["changes"][0];
  EXPECT_EQ(change["before"]["text"].get<std::string>(), before.substr(0, 64 * 1024));
  EXPECT_EQ(change["after"]["kept_bytes"], after.size());

  // Without the text of what was missed it stays at sizes and digests.
  ASSERT_TRUE(open()->erase(second.key()));
  ASSERT_EQ(larder({"why"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("blake2b"));
  EXPECT_THAT(out, Not(HasSubstr("changed!!")));
}

TEST_F(Why, PrefersWhatWasThereWhenItWasMissed) {
  request(recipe("kernel", "-O1 -g"));
  request(recipe("kernel", "-O2"));
  request(recipe("kernel", "-O3"));
  ASSERT_EQ(larder({"why", recipe("kernel", "-O2").key().hex().substr(0, 8), "--json"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["nearest"]["key"], recipe("kernel", "-O1 -g").key().hex());
  ASSERT_EQ(larder({"why", recipe("kernel", "-O1 -g").key().hex(), "--json"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["nearest"]["is_later"], true);
}

TEST_F(Why, SaysThatItHadBeenKeptAndWhyItLeft) {
  request(recipe("a"));
  ASSERT_TRUE(open()->erase(recipe("a").key(), Reason::evicted));
  request(recipe("a"));
  ASSERT_EQ(larder({"why"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("evicted: it had been kept, and had left to make room"));
  EXPECT_THAT(out, HasSubstr("no other entry of kind test-kind is kept"));
}

TEST_F(Why, ListsTheMissesThatAreRemembered) {
  request(recipe("a"));
  request(recipe("b"));
  ASSERT_EQ(larder({"why", "--list"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr(first(recipe("a").key())));
  EXPECT_THAT(out, HasSubstr("name=\"b\""));
  ASSERT_EQ(larder({"why", "--list", "--json"}), kDone);
  const Parsed json = Parsed::parse(out);
  ASSERT_EQ(json["misses"].size(), 2u);
  EXPECT_EQ(json["misses"][0]["key"], recipe("b").key().hex()) << "the newest first";
}

TEST_F(Why, SaysNoWhenNoSuchMissIsRemembered) {
  EXPECT_EQ(larder({"why"}), kNo);
  EXPECT_THAT(err, HasSubstr("no miss is remembered"));
  EXPECT_FALSE(std::filesystem::exists(root));
  request(recipe("a"));
  EXPECT_EQ(larder({"why", "ffffffffffff"}), kNo);
  EXPECT_THAT(err, HasSubstr("why --list"));
  EXPECT_EQ(larder({"why", "lats"}), kError);
  EXPECT_EQ(out, "");
}

TEST_F(Why, HidesNoControlCharacters) {
  request(recipe("x", "-O2"));
  request(recipe("x", "-O2\033[2J"));
  ASSERT_EQ(larder({"why"}), kDone);
  EXPECT_EQ(out.find('\033'), std::string::npos) << out;
}

TEST_F(Why, RemembersNoMoreMissesThanTheSettingSays) {
  for (int i = 0; i < 5; ++i) request(recipe(std::to_string(i)));
  here.environment["LARDER_MISSES_KEPT"] = "2";
  ASSERT_EQ(larder({"why", "--list", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["misses"].size(), 2u);
}

TEST(Ago, SaysWhatTheClockCannotSay) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(ago(10 * kSecond, 5 * kSecond), "5.0 s ago");
  EXPECT_EQ(ago(10 * kSecond, 11 * kSecond), "in the future, says the clock");
  EXPECT_EQ(ago(10 * kSecond, 0), "at a time not known");
  EXPECT_EQ(ago(10 * kSecond, -kSecond), "at a time not known");
}

}  // namespace
}  // namespace larder::tool
