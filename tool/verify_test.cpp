#include <gmock/gmock.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Verify = StoreToolTest;
using Parsed = nlohmann::json;
using testing::HasSubstr;

TEST_F(Verify, SaysThatAllIsSound) {
  keep(recipe("a"));
  keep(recipe("large"), std::string(3'000'000, 'x'));
  ASSERT_EQ(larder({"verify"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("2 entries"));
  EXPECT_THAT(out, HasSubstr("0 damaged"));
  ASSERT_EQ(larder({"verify", "--json"}), kDone);
  const Parsed json = Parsed::parse(out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["checked"], 2);
  EXPECT_EQ(json["sound"], 2);
  EXPECT_EQ(json["is_complete"], true);
  EXPECT_TRUE(json["damaged"].empty());
}

TEST_F(Verify, NamesWhatIsDamagedAndChangesNothing) {
  keep(recipe("good"));
  const Key flipped = keep(recipe("flipped"));
  const Key large = keep(recipe("large"), std::string(3'000'000, 'x'));
  const Key cut = keep(recipe("cut"));
  damage(flipped);
  damage(large);
  std::filesystem::resize_file(path_of(cut), 200);
  EXPECT_EQ(larder({"verify"}), kNo);
  for (const Key& key : {flipped, large, cut}) {
    EXPECT_THAT(out, HasSubstr(first(key)));
    EXPECT_THAT(out, HasSubstr(path_of(key)));
    EXPECT_TRUE(is_there(key));
  }
  EXPECT_THAT(out, HasSubstr("1 entry, "));
  EXPECT_THAT(out, HasSubstr("3 damaged"));
  EXPECT_THAT(err, HasSubstr("verify --remove"));
  EXPECT_EQ(larder({"verify", "--json"}), kNo);
  const Parsed json = Parsed::parse(out);
  ASSERT_EQ(json["damaged"].size(), 3u);
  for (const Parsed& one : json["damaged"]) {
    EXPECT_EQ(one["reason"], one["key"] == cut.hex() ? "truncated" : "corrupt");
    EXPECT_EQ(one["is_removed"], false);
  }
}

TEST_F(Verify, RemovesWhatIsDamagedWhenAskedTo) {
  const Key good = keep(recipe("good"));
  const Key bad = keep(recipe("bad"));
  damage(bad);
  EXPECT_EQ(larder({"verify", "--remove", "--json"}), kNo);
  EXPECT_EQ(Parsed::parse(out)["damaged"][0]["is_removed"], true);
  EXPECT_FALSE(is_there(bad));
  EXPECT_TRUE(is_there(good));
  EXPECT_EQ(larder({"verify"}), kDone);
  EXPECT_EQ(open()->absence(bad), Reason::corrupt);
  ASSERT_EQ(larder({"stats", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["counters"]["damaged"], 1);
}

TEST_F(Verify, LeavesWhatIsNotLardersAlone) {
  const Key key = keep(recipe("a"));
  const std::string elsewhere = place + "/elsewhere";
  std::filesystem::rename(path_of(key), elsewhere);
  std::filesystem::create_symlink(elsewhere, path_of(key));
  EXPECT_EQ(larder({"verify", "--remove"}), kNo);
  EXPECT_THAT(out, HasSubstr("untrusted"));
  EXPECT_THAT(err, HasSubstr("not larder's to remove"));
  EXPECT_TRUE(std::filesystem::is_symlink(path_of(key)));
  EXPECT_TRUE(std::filesystem::exists(elsewhere));
}

TEST_F(Verify, GoesOnWhereAnInterruptedPassStopped) {
  for (int i = 0; i < 64; ++i) keep(recipe(std::to_string(i)));
  // The mark of a pass that was interrupted before shard 128.
  ASSERT_TRUE(open()->notes().replace("verify", "larder-verify 1 128"));
  ASSERT_EQ(larder({"verify", "--continue", "--json"}), kDone) << err;
  std::uint64_t rest = 0;
  open()->for_each_key([&](const Key& key) {
    rest += key.high >> 63;
    return true;
  });
  EXPECT_EQ(Parsed::parse(out)["checked"], rest);
  EXPECT_LT(rest, 64u);
  ASSERT_EQ(larder({"verify", "--continue", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["checked"], 64) << "a pass that came to its end leaves no mark";
  for (const char* mark : {"larder-verify 1 9999", "garbage", "larder-verify 1 -1", ""}) {
    ASSERT_TRUE(open()->notes().replace("verify", mark));
    ASSERT_EQ(larder({"verify", "--continue", "--json"}), kDone);
    EXPECT_EQ(Parsed::parse(out)["checked"], 64) << mark;
  }
}

TEST_F(Verify, OfNothingIsSound) {
  EXPECT_EQ(larder({"verify"}), kDone);
  EXPECT_THAT(err, HasSubstr("nothing is kept"));
  EXPECT_FALSE(std::filesystem::exists(root));
}

}  // namespace
}  // namespace larder::tool
