#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "cache/misses.hpp"
#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Clear = StoreToolTest;
using Parsed = nlohmann::json;
using std::chrono::hours;
using testing::HasSubstr;

TEST_F(Clear, WithoutASelectionIsAnErrorThatSaysWhatToDo) {
  const Key key = keep(recipe("a"));
  EXPECT_EQ(larder({"clear"}), kError);
  EXPECT_THAT(err, HasSubstr("--all for everything"));
  EXPECT_EQ(larder({"clear", "--dry-run"}), kError);
  EXPECT_EQ(larder({"clear", "--all", "--kind", "x"}), kError);
  EXPECT_THAT(err, HasSubstr("exclude each other"));
  EXPECT_EQ(larder({"--program", "tester", "clear"}), kError) << "before the command it is a setting";
  EXPECT_TRUE(is_there(key));
}

TEST_F(Clear, AllRemovesEntriesAndWhatIsRememberedOfThem) {
  request(recipe("a"));
  const Key bad = keep(recipe("bad"));
  damage(bad);
  EXPECT_EQ(larder({"verify", "--remove"}), kNo);
  ASSERT_FALSE(std::filesystem::is_empty(root + "/v1/damaged"));
  ASSERT_EQ(larder({"clear", "--all", "--dry-run"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("would remove 1 entry"));
  EXPECT_TRUE(is_there(recipe("a").key()));
  ASSERT_EQ(larder({"clear", "--all"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("removed 1 entry"));
  EXPECT_THAT(out, HasSubstr("0 entries, 0 B stay"));
  EXPECT_FALSE(is_there(recipe("a").key()));
  EXPECT_TRUE(std::filesystem::is_empty(root + "/v1/damaged"));
  EXPECT_TRUE(read_misses(open()->notes(), 10).empty());
  for (const auto& file : std::filesystem::directory_iterator(root + "/v1"))
    EXPECT_FALSE(file.path().filename().string().starts_with("start-")) << file.path();
  ASSERT_EQ(larder({"stats", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["requests"], 1) << "counts stay";
}

TEST_F(Clear, TakesKindAgeProgramAndPath) {
  Recipe other("other-kind");
  other.add("file", "/src/x.c");
  const Key of_other = keep(other);
  const Key old = keep(recipe("old"));
  use(old, hours(24 * 40));
  const Key third = keep(recipe("third"));
  request(recipe("of tester"));
  ASSERT_EQ(larder({"clear", "--kind", "nothing"}), kDone);
  EXPECT_THAT(out, HasSubstr("removed 0 entries"));
  ASSERT_EQ(larder({"clear", "--program", "tester", "--json"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["gone_entries"], 1);
  EXPECT_FALSE(is_there(recipe("of tester").key()));
  ASSERT_EQ(larder({"clear", "--older-than", "30d"}), kDone) << err;
  EXPECT_FALSE(is_there(old));
  EXPECT_TRUE(is_there(third));
  EXPECT_TRUE(is_there(of_other));
  ASSERT_EQ(larder({"clear", "--path", "/src"}), kDone) << err;
  EXPECT_FALSE(is_there(of_other));
  ASSERT_EQ(larder({"clear", "--kind", "test-kind", "--json"}), kDone) << err;
  const Parsed json = Parsed::parse(out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["gone_entries"], 1);
  EXPECT_EQ(json["entries"], 0);
}

TEST_F(Clear, ForgetsOnlyTheMissesThatAreMeant) {
  Recipe other("other-kind");
  other.add("x", "y");
  request(other);
  request(recipe("a"));
  ASSERT_EQ(larder({"clear", "--kind", "other-kind"}), kDone) << err;
  const auto misses = read_misses(open()->notes(), 10);
  ASSERT_EQ(misses.size(), 1u);
  EXPECT_EQ(misses[0].recipe, recipe("a"));
}

TEST_F(Clear, RemovesWhatCannotBeReadWhenAllIsMeant) {
  const Key key = keep(recipe("a"));
  std::filesystem::resize_file(path_of(key), 10);
  ASSERT_EQ(larder({"clear", "--kind", "test-kind"}), kDone);
  EXPECT_TRUE(is_there(key));
  ASSERT_EQ(larder({"clear", "--all"}), kDone);
  EXPECT_FALSE(is_there(key));
}

TEST_F(Clear, OfNothingMakesNothing) {
  EXPECT_EQ(larder({"clear", "--all"}), kDone);
  EXPECT_FALSE(std::filesystem::exists(root));
}

}  // namespace
}  // namespace larder::tool
