#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Gc = StoreToolTest;
using Parsed = nlohmann::json;
using std::chrono::hours;
using testing::HasSubstr;

TEST_F(Gc, RemovesWhatIsTooOldAndSaysSo) {
  const Key old = keep(recipe("old"));
  const Key young = keep(recipe("young"));
  // Made long ago too: an entry is no older than its making.
  {
    const auto store = open();
    store->erase(old);
    const auto then = std::chrono::system_clock::now() - hours(24 * 40);
    ASSERT_TRUE(store->put(recipe("old"), as_bytes("x"),
                           {.cost = {},
                            .log = {},
                            .attachment = {},
                            .made_at_unix_ns = std::chrono::nanoseconds(then.time_since_epoch()).count()}));
  }
  use(old, hours(24 * 30));
  ASSERT_EQ(larder({"gc", "--dry-run", "--json"}), kDone) << err;
  Parsed json = Parsed::parse(out);
  EXPECT_EQ(json["is_dry_run"], true);
  ASSERT_EQ(json["gone"].size(), 1u);
  EXPECT_EQ(json["gone"][0]["key"], old.hex());
  EXPECT_TRUE(is_there(old));
  // The index learned of both just now; it is the file that says when it was used.
  std::filesystem::remove(root + "/v1/journal");
  std::filesystem::remove(root + "/v1/totals");
  ASSERT_EQ(larder({"gc", "--json"}), kDone) << err;
  json = Parsed::parse(out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["is_complete"], true);
  ASSERT_EQ(json["gone"].size(), 1u) << out;
  EXPECT_EQ(json["gone"][0]["key"], old.hex());
  EXPECT_EQ(json["gone"][0]["reason"], "expired");
  EXPECT_EQ(json["entries"], 1);
  EXPECT_FALSE(is_there(old));
  EXPECT_TRUE(is_there(young));
}

// What a get would refuse for its age goes, and nothing else does, whatever the index heard last.
TEST_F(Gc, AgreesWithGetOfWhatIsDatedBefore1970) {
  const auto then = std::chrono::system_clock::now() - hours(24 * 400);
  const std::int64_t made_at = std::chrono::nanoseconds(then.time_since_epoch()).count();
  for (int i = 0; i < 5; ++i)
    keep(recipe(std::to_string(i)), "product",
         {.cost = {}, .log = {}, .attachment = {}, .made_at_unix_ns = made_at});
  const Key young = keep(recipe("young"));
  for (const auto& each : std::filesystem::recursive_directory_iterator(root)) {
    if (each.path().filename().string().size() != 30) continue;
    const timespec times[2] = {{-315'619'200, 0}, {-315'619'200, 0}};  // 1960
    ASSERT_EQ(::utimensat(AT_FDCWD, each.path().c_str(), times, 0), 0);
  }
  const auto looked = open()->get(recipe("0"), {.read_only = true});
  ASSERT_EQ(looked.reason, Reason::expired);
  ASSERT_EQ(larder({"gc", "--dry-run", "--json"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["gone"].size(), 5u) << out;
  ASSERT_EQ(larder({"gc", "--json"}), kDone) << err;
  const Parsed json = Parsed::parse(out);
  ASSERT_EQ(json["gone"].size(), 5u) << out;
  EXPECT_EQ(json["gone"][0]["reason"], "expired");
  EXPECT_EQ(json["entries"], 1);
  EXPECT_TRUE(is_there(young));
  EXPECT_TRUE(open()->get(recipe("young")));
}

TEST_F(Gc, BringsTheStoreDownToItsCap) {
  for (int i = 0; i < 40; ++i) keep(recipe(std::to_string(i)), std::string(10'000, 'x'));
  ASSERT_EQ(larder({"gc", "--dry-run", "--size-max", "200K"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("that the policy chooses"));
  ASSERT_EQ(larder({"gc", "--size-max", "200K"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("evicted"));
  EXPECT_THAT(out, HasSubstr(" stay\n"));
  ASSERT_EQ(larder({"stats", "--json"}), kDone);
  const Parsed stats = Parsed::parse(out);
  EXPECT_LE(stats["bytes"], 200 * 1024);
  EXPECT_GT(stats["entries"], 10);
  EXPECT_EQ(stats["counters"]["evicted"].get<int>() + stats["entries"].get<int>(), 40);
  ASSERT_EQ(larder({"gc", "--size-max", "200K"}), kDone);
  EXPECT_THAT(out, HasSubstr("removed 0 entries"));
}

TEST_F(Gc, SweepsWhatDeadWritersLeft) {
  const Key key = keep(recipe("a"));
  const std::string left = std::filesystem::path(path_of(key)).parent_path() / ".new-0123456789abcdef";
  std::ofstream(left) << "half an entry";
  ASSERT_EQ(::chmod(left.c_str(), 0600), 0);
  std::filesystem::last_write_time(left, std::filesystem::file_time_type::clock::now() - hours(5));
  ASSERT_EQ(larder({"gc"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("1 files that writers had left behind"));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(is_there(key));
}

TEST_F(Gc, OfNothingDoesNothing) {
  EXPECT_EQ(larder({"gc"}), kDone);
  EXPECT_THAT(err, HasSubstr("nothing is kept"));
  EXPECT_EQ(larder({"gc", "--json"}), kDone);
  EXPECT_TRUE(Parsed::parse(out)["gone"].empty());
  EXPECT_FALSE(std::filesystem::exists(root));
}

}  // namespace
}  // namespace larder::tool
