#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Ls = StoreToolTest;
using Parsed = nlohmann::json;
using std::chrono::hours;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::vector<std::string> keys_of(const std::string& json) {
  std::vector<std::string> keys;
  const Parsed parsed = Parsed::parse(json);
  for (const Parsed& row : parsed["entries"]) keys.push_back(row["key"]);
  return keys;
}

class LsOrders : public StoreToolTest {
 protected:
  void SetUp() override {
    small_costly = keep(recipe("a"), "x", {.cost = seconds(50), .log = {}, .attachment = {}});
    large = keep(recipe("b"), std::string(9000, 'x'), {.cost = seconds(1), .log = {}, .attachment = {}});
    old = keep(recipe("c"), "xx", {.cost = seconds(2), .log = {}, .attachment = {}});
    use(small_costly, hours(2));
    use(large, hours(1));
    use(old, hours(30));
  }
  Key small_costly, large, old;
};

TEST_F(LsOrders, TheMostRecentlyUsedComesFirst) {
  ASSERT_EQ(larder({"ls", "--json"}), kDone) << err;
  const Parsed json = Parsed::parse(out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_THAT(keys_of(out), ElementsAre(large.hex(), small_costly.hex(), old.hex()));
  const Parsed& row = json["entries"][0];
  EXPECT_EQ(row["kind"], "test-kind");
  EXPECT_EQ(row["product_bytes"], 9000);
  EXPECT_EQ(row["file_bytes"], std::filesystem::file_size(path_of(large)));
  EXPECT_EQ(row["cost_ns"], 1'000'000'000);
  EXPECT_GT(row["made_at_unix_ns"], row["used_at_unix_ns"]);
}

TEST_F(LsOrders, CanBeChosenAndCutShort) {
  ASSERT_EQ(larder({"ls", "--json", "--largest", "-n", "1"}), kDone) << err;
  EXPECT_THAT(keys_of(out), ElementsAre(large.hex()));
  ASSERT_EQ(larder({"ls", "--json", "--costliest", "-n2"}), kDone) << err;
  EXPECT_THAT(keys_of(out), ElementsAre(small_costly.hex(), old.hex()));
  ASSERT_EQ(larder({"ls", "--json", "--oldest", "--limit=1"}), kDone) << err;
  EXPECT_THAT(keys_of(out), ElementsAre(old.hex()));
  ASSERT_EQ(larder({"ls", "--json", "-n", "0"}), kDone) << err;
  EXPECT_THAT(keys_of(out), ElementsAre());
  EXPECT_EQ(larder({"ls", "--largest", "--oldest"}), kError);
  EXPECT_EQ(larder({"ls", "-n", "many"}), kError);
}

TEST_F(LsOrders, ShowKeySizeCostUseKindAndIngredients) {
  ASSERT_EQ(larder({"ls", "--costliest", "-n", "1"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("KEY"));
  EXPECT_THAT(out, HasSubstr(first(small_costly)));
  EXPECT_THAT(out, HasSubstr("50 s"));
  EXPECT_THAT(out, HasSubstr("2.0 h"));
  EXPECT_THAT(out, HasSubstr("test-kind"));
  EXPECT_THAT(out, HasSubstr(R"(name="a" options="-O2")"));
}

TEST_F(LsOrders, SelectByKindAgePathAndProgram) {
  Recipe other("other-kind");
  other.add("header /usr/include/x.h", "text").add("file", place + "/src/x.c");
  const Key of_path = keep(other);
  const auto selected = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"ls", "--json"});
    EXPECT_EQ(larder(words), kDone) << err;
    return keys_of(out);
  };
  EXPECT_THAT(selected({"--kind", "other-kind"}), ElementsAre(of_path.hex()));
  EXPECT_THAT(selected({"--kind", "no-kind"}), ElementsAre());
  EXPECT_THAT(selected({"--older-than", "1d"}), ElementsAre(old.hex()));
  EXPECT_THAT(selected({"--path", place + "/src"}), ElementsAre(of_path.hex()));
  EXPECT_THAT(selected({"--path", "src/"}), ElementsAre(of_path.hex())) << "meant from the working directory";
  EXPECT_THAT(selected({"--path", place + "/sr"}), ElementsAre());
  EXPECT_THAT(selected({"--kind", "test-kind", "--older-than", "90min"}),
              ElementsAre(small_costly.hex(), old.hex()));
  {
    Cache cache = Cache::open(options());
    EXPECT_TRUE(cache.get_or_make(recipe("a"), [] { return std::string("not made"); }));
    EXPECT_TRUE(cache.get_or_make(recipe("d"), [] { return std::string("d"); }));
  }
  EXPECT_EQ(selected({"--program", "tester"}).size(), 2u);
  EXPECT_THAT(selected({"--program", "nobody"}), ElementsAre());
  EXPECT_EQ(larder({"ls", "--older-than", "soon"}), kError);
  EXPECT_THAT(err, HasSubstr("--older-than"));
  EXPECT_EQ(larder({"ls", "--kind", ""}), kError);
}

TEST_F(Ls, ControlCharactersInNamesNeverReachATerminal) {
  Recipe evil("kind\033[31m\n");
  evil.add("na\033]0;title\007me", "val\x1b[2J\nue").add("r\u202eevil", "x");
  keep(evil, "p", {.cost = {}, .log = "log\033[0m\r\n", .attachment = {}});
  ASSERT_EQ(larder({"ls"}), kDone);
  EXPECT_EQ(out.find('\033'), std::string::npos);
  EXPECT_EQ(std::count(out.begin(), out.end(), '\n'), 2) << out;
  ASSERT_EQ(larder({"ls", "--json"}), kDone);
  EXPECT_EQ(Parsed::parse(out)["entries"][0]["kind"], "kind\033[31m\n");
  ASSERT_EQ(larder({"show", evil.key().hex()}), kDone) << err;
  EXPECT_EQ(out.find('\033'), std::string::npos) << out;
  EXPECT_EQ(out.find("\u202e"), std::string::npos) << out;
}

TEST_F(Ls, LinesFitANarrowTerminal) {
  Recipe wide(std::string(100, 'k'));
  wide.add("name", std::string(500, 'n'));
  const Key key = keep(wide);
  is_terminal = true;
  ASSERT_EQ(larder({"ls"}), kDone);
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(out, HasSubstr(first(key)));
}

TEST_F(Ls, NameWhatCannotBeReadAndListTheRest) {
  const Key good = keep(recipe("a"));
  const Key bad = keep(recipe("b"));
  std::filesystem::resize_file(path_of(bad), 100);
  ASSERT_EQ(larder({"ls"}), kDone);
  EXPECT_THAT(out, HasSubstr(first(good)));
  EXPECT_THAT(out, HasSubstr("cannot be read: truncated"));
  ASSERT_EQ(larder({"ls", "--json"}), kDone);
  EXPECT_THAT(keys_of(out).size(), 2u);
  ASSERT_EQ(larder({"ls", "--json", "--kind", "test-kind"}), kDone);
  EXPECT_THAT(keys_of(out), ElementsAre(good.hex()));
}

TEST_F(Ls, OfNothingIsEmptyAndSaysSoOnStderr) {
  ASSERT_EQ(larder({"ls"}), kDone);
  EXPECT_EQ(out, "");
  EXPECT_THAT(err, HasSubstr("nothing is kept in"));
  ASSERT_EQ(larder({"ls", "--json"}), kDone);
  EXPECT_TRUE(Parsed::parse(out)["entries"].empty());
  EXPECT_FALSE(std::filesystem::exists(root));
  (void)open();
  ASSERT_EQ(larder({"ls"}), kDone);
  EXPECT_EQ(out, "");
  EXPECT_THAT(err, HasSubstr("no entry is kept"));
}

TEST_F(Ls, ListsEveryEntryThatStaysWhileOthersWrite) {
  std::set<std::string> always;
  for (int i = 0; i < 200; ++i) always.insert(keep(recipe("stays " + std::to_string(i))).hex());
  std::atomic<bool> ends{false};
  std::thread writer([&] {
    const auto store = open();
    for (int i = 0; !ends; ++i) {
      const Recipe one = recipe("comes " + std::to_string(i % 50));
      store->put(one, as_bytes("x"));
      store->erase(one.key());
    }
  });
  for (int round = 0; round < 10; ++round) {
    ASSERT_EQ(larder({"ls", "--json"}), kDone) << err;
    std::set<std::string> seen;
    for (const std::string& key : keys_of(out)) EXPECT_TRUE(seen.insert(key).second) << key << " twice";
    for (const std::string& key : always) EXPECT_TRUE(seen.contains(key)) << key;
  }
  ends = true;
  writer.join();
}

TEST_F(Ls, SaysThatAFlagTakesNoValue) {
  for (const std::string flag : {"--largest", "--json"}) {
    EXPECT_EQ(larder({"ls", flag + "=off"}), kError);
    EXPECT_THAT(err, HasSubstr(flag + " takes no value"));
    EXPECT_THAT(err, HasSubstr("leave it out"));
    EXPECT_THAT(err, testing::Not(HasSubstr("override")));
  }
}

}  // namespace
}  // namespace larder::tool
