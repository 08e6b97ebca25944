// `export` and `import`: what one writes the other takes in.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "larder/bundle.hpp"
#include "tool/store_tool_test_kit.hpp"

namespace larder::tool {
namespace {

using Parsed = nlohmann::json;
using testing::HasSubstr;

class BundleCommands : public StoreToolTest {
 protected:
  static std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  // From here on the command works on another, empty store.
  void move_on() {
    root = place + "/other";
    here.environment["LARDER_DIR"] = root;
  }
  std::string bundle() const { return place + "/b.bundle"; }
};
using Export = BundleCommands;
using Import = BundleCommands;

TEST_F(Export, AndImportGiveTheSameEntriesBack) {
  const Key key = keep(recipe("a"), "the product",
                       {.cost = std::chrono::seconds(7), .log = "a log", .attachment = as_bytes("text")});
  keep(recipe("b"), std::string(100'000, 'b'));
  ASSERT_EQ(larder({"export", "b.bundle"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("exported 2 entries"));
  const std::string first_bytes = content(bundle());
  move_on();
  ASSERT_EQ(larder({"import", "b.bundle", "--json"}), kDone) << err;
  const Parsed json = Parsed::parse(out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["kept"], 2);
  EXPECT_EQ(json["already_there"], 0);
  EXPECT_EQ(json["entries"], 2);
  const Lookup found = open()->get(recipe("a"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found.entry.product.text(), "the product");
  EXPECT_EQ(found.entry.log, "a log");
  EXPECT_EQ(as_text(found.entry.attachment), "text");
  EXPECT_EQ(found.entry.cost, std::chrono::seconds(7));
  // The time of making came along, so the bundle of the other machine is this one's.
  ASSERT_EQ(larder({"export", "again.bundle"}), kDone) << err;
  EXPECT_EQ(content(place + "/again.bundle"), first_bytes);
  EXPECT_TRUE(is_there(key));
}

TEST_F(Export, TakesASelection) {
  keep(recipe("a"));
  Recipe other("other-kind");
  keep(other);
  ASSERT_EQ(larder({"export", bundle(), "--kind", "other-kind", "--json"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["entries"], 1);
  EXPECT_EQ(Bundle::open(bundle())->entries(), 1u);
}

TEST_F(Export, OfNothingIsNoAndLeavesTheBundleThatStoodThere) {
  EXPECT_EQ(larder({"export", bundle()}), kNo);
  EXPECT_FALSE(std::filesystem::exists(bundle()));
  keep(recipe("a"));
  ASSERT_EQ(larder({"export", bundle()}), kDone) << err;
  const std::string before = content(bundle());
  EXPECT_EQ(larder({"export", bundle(), "--kind", "no-such"}), kNo);
  EXPECT_THAT(err, HasSubstr("no entry is of kind `no-such`"));
  EXPECT_EQ(content(bundle()), before);
  EXPECT_EQ(larder({"export"}), kError);
  EXPECT_EQ(larder({"export", "/nowhere/x.bundle"}), kError);
  EXPECT_THAT(err, HasSubstr("/nowhere/x.bundle"));
}

TEST_F(Export, LeavesDamagedEntriesOutAndSaysSo) {
  keep(recipe("a"));
  damage(keep(recipe("b")));
  ASSERT_EQ(larder({"export", bundle()}), kDone);
  EXPECT_THAT(out, HasSubstr("exported 1 entry"));
  EXPECT_THAT(err, HasSubstr("1 entry left out"));
}

TEST_F(Export, SignsWithAKeyOfItsOwnMaking) {
  keep(recipe("a"));
  ASSERT_EQ(larder({"export", "--new-key", "key"}), kDone) << err;
  EXPECT_EQ(larder({"export", "--new-key", "key"}), kError) << "a key is never written over";
  ASSERT_EQ(larder({"export", bundle(), "--sign", "key"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("signed"));
  EXPECT_EQ(larder({"export", bundle(), "--sign", "key.pub"}), kError);
  move_on();
  EXPECT_EQ(larder({"import", bundle(), "--require-signature"}), kError);
  EXPECT_THAT(err, HasSubstr("bundle-keys"));
  ASSERT_EQ(larder({"import", bundle(), "--require-signature", "--trust", "key.pub"}), kDone) << err;
  ASSERT_EQ(larder({"import", bundle(), "--check", "--trust", "key.pub"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("trusted"));
}

TEST_F(Import, PassesOverWhatIsThere) {
  for (int i = 0; i < 10; ++i) keep(recipe(std::to_string(i)));
  ASSERT_EQ(larder({"export", bundle()}), kDone);
  move_on();
  // As an interrupted import leaves it.
  keep(recipe("3"));
  keep(recipe("4"));
  ASSERT_EQ(larder({"import", bundle(), "--json"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["kept"], 8);
  EXPECT_EQ(Parsed::parse(out)["already_there"], 2);
  ASSERT_EQ(larder({"import", bundle()}), kDone);
  EXPECT_THAT(out, HasSubstr("imported 0 entries, 0 B; 10 were there; 10 entries"));
}

TEST_F(Import, KeepsWhatIsSoundAndNamesWhatIsNot) {
  const Key a = keep(recipe("a"), std::string(1000, 'a'));
  const Key b = keep(recipe("b"), std::string(1000, 'b'));
  ASSERT_EQ(larder({"export", bundle()}), kDone);
  std::string bytes = content(bundle());
  bytes[bytes.find(std::string(500, 'a')) + 7] = '?';
  std::ofstream(bundle(), std::ios::binary | std::ios::trunc) << bytes;
  move_on();
  EXPECT_EQ(larder({"import", bundle()}), kNo);
  EXPECT_THAT(out, HasSubstr(first(a)));
  EXPECT_THAT(out, HasSubstr("imported 1 entry"));
  EXPECT_TRUE(is_there(b));
  EXPECT_FALSE(is_there(a));
}

TEST_F(Import, SaysWhatTheStoreDidNotKeep) {
  keep(recipe("a"), std::string(5000, 'a'));
  ASSERT_EQ(larder({"export", bundle()}), kDone);
  move_on();
  EXPECT_EQ(larder({"import", bundle(), "--entry-size-max", "1K"}), kNo);
  EXPECT_THAT(out, HasSubstr("1 not kept: too_large"));
}

TEST_F(Import, RefusesWhatIsNoBundleAndMakesNothing) {
  move_on();
  EXPECT_EQ(larder({"import", "none.bundle"}), kError);
  EXPECT_THAT(err, HasSubstr("none.bundle"));
  std::ofstream(place + "/x") << "this is no bundle";
  EXPECT_EQ(larder({"import", "x"}), kError);
  EXPECT_EQ(larder({"import"}), kError);
  EXPECT_FALSE(std::filesystem::exists(root));
  EXPECT_EQ(larder({"import", "--check", "x"}), kNo);
  EXPECT_THAT(out, HasSubstr("not usable"));
}

TEST_F(Import, ChecksWhetherEntriesFitTheMachine) {
  Recipe ours("program"), theirs("program");
  ours.add("driver", "535.2").add("n", "1");
  theirs.add("driver", "470").add("n", "2");
  keep(ours);
  keep(theirs);
  ASSERT_EQ(larder({"export", bundle()}), kDone);
  move_on();
  ASSERT_EQ(larder({"import", "--check", bundle(), "--fact", "driver=535.2", "--json"}), kDone) << err;
  Parsed json = Parsed::parse(out);
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["is_usable"], true);
  EXPECT_EQ(json["entries"], 2);
  EXPECT_EQ(json["fitting"], 1);
  EXPECT_EQ(json["trust"], "unsigned");
  ASSERT_EQ(json["misfits"].size(), 1u);
  EXPECT_EQ(json["misfits"][0]["ingredient"], "driver");
  EXPECT_EQ(json["misfits"][0]["theirs"], "470");
  EXPECT_EQ(larder({"import", "--check", bundle(), "--fact", "driver=1", "--fact", "n=1"}), kNo);
  EXPECT_THAT(out, HasSubstr("misfit"));
  EXPECT_EQ(larder({"import", "--check", bundle(), "--fact", "driver"}), kError);
  EXPECT_FALSE(std::filesystem::exists(root)) << "a check changes nothing";
}

TEST_F(Export, ReplacesNothingButABundleOrAnEmptyFile) {
  keep(recipe("a"));
  const std::string path = place + "/here";
  const auto stays = [&](const char* what) {
    struct stat before {
    }, after{};
    ASSERT_EQ(::lstat(path.c_str(), &before), 0) << what;
    EXPECT_EQ(larder({"export", path}), kError) << what;
    EXPECT_THAT(err, HasSubstr(path)) << what;
    ASSERT_EQ(::lstat(path.c_str(), &after), 0) << what;
    EXPECT_EQ(before.st_ino, after.st_ino) << what;
    EXPECT_EQ(before.st_mode, after.st_mode) << what;
    std::filesystem::remove_all(path);
  };
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  stays("a pipe");
  std::ofstream(place + "/real") << "precious";
  std::filesystem::create_symlink(place + "/real", path);
  stays("a link");
  std::filesystem::create_symlink("/nowhere/at/all", path);
  stays("a link to nothing");
  std::filesystem::create_directory(path);
  stays("a directory");
  std::ofstream(path) << "int main() {}";
  stays("a file of another kind");
  EXPECT_EQ(content(place + "/real"), "precious");
  std::ofstream(path).close();
  EXPECT_EQ(larder({"export", path}), kDone) << err;
  keep(recipe("b"));
  EXPECT_EQ(larder({"export", path}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("2 entries"));
}

TEST_F(Export, AnswersAsJsonAlsoWhenItSaysNo) {
  ASSERT_EQ(larder({"export", "x.bundle", "--json"}), kNo);
  EXPECT_THAT(Parsed::parse(out)["reason"].get<std::string>(), HasSubstr("nothing is kept"));
  keep(recipe("a"));
  ASSERT_EQ(larder({"export", "x.bundle", "--kind", "none", "--json"}), kNo);
  EXPECT_THAT(Parsed::parse(out)["reason"].get<std::string>(), HasSubstr("no entry is"));
  ASSERT_EQ(larder({"export", "--new-key", "key", "--json"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["public_key"], place + "/key.pub");
  ASSERT_EQ(larder({"show", "ff", "--json"}), kNo);
  EXPECT_EQ(Parsed::parse(out)["schema"], 1);
  ASSERT_EQ(larder({"why", "--json"}), kNo);
  EXPECT_EQ(Parsed::parse(out)["reason"].get<std::string>().substr(0, 21), "no miss is remembered");
}

// The index may have heard twice of one, or of one that never came: the names count then.
TEST_F(BundleCommands, ImportSaysNoTotalThatItDoesNotKnow) {
  for (int i = 0; i < 5; ++i) keep(recipe(std::to_string(i)));
  ASSERT_EQ(larder({"export", place + "/all.bundle"}), kDone) << err;
  ASSERT_EQ(larder({"clear", "--all"}), kDone) << err;
  const Key behind = keep(recipe("behind"));
  std::filesystem::remove(path_of(behind));  // behind the index's back
  ASSERT_EQ(larder({"import", place + "/all.bundle"}), kDone) << err;
  EXPECT_THAT(out, HasSubstr("; about 5 entries, "));
  EXPECT_THAT(out, HasSubstr(" are kept now"));
  ASSERT_EQ(larder({"import", "--json", place + "/all.bundle"}), kDone) << err;
  EXPECT_EQ(Parsed::parse(out)["entries"], 5);
  EXPECT_EQ(Parsed::parse(out)["is_exact"], false);
  ASSERT_EQ(larder({"gc"}), kDone) << err;
}

}  // namespace
}  // namespace larder::tool
