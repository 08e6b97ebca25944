// What the tool does with a store besides get and put: glancing, verifying, removing what is damaged.
#include "base/faulty_file_system.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

class LookingTest : public StoreTest {
 protected:
  void flip(const Recipe& recipe, std::size_t from_end) {
    std::string bytes = read_file(entry_path(recipe));
    char& byte = bytes[bytes.size() - from_end];
    byte = static_cast<char>(byte ^ 1);
    write_file(entry_path(recipe), bytes);
  }
};
using Glance = LookingTest;
using VerifyAndRemove = LookingTest;

TEST_F(Glance, ReadsOnePieceOfAnEntryWithALongLogAndAttachment) {
  FaultyFileSystem files;
  options_.files = &files;
  const auto store = open();
  const Recipe recipe = recipe_for("a");
  const std::string log(100'000, 'l'), attachment(1'000'000, 'a');
  store->put(recipe, as_bytes("product"),
             {.cost = std::chrono::seconds(2), .log = log, .attachment = as_bytes(attachment)});
  const auto before = files.bytes_read();
  EntryInfo info;
  ASSERT_EQ(store->glance(recipe.key(), info), Reason::none);
  EXPECT_LE(files.bytes_read() - before, 4096u);
  EXPECT_EQ(info.recipe, recipe.canonical());
  EXPECT_EQ(info.product_bytes, 7u);
  EXPECT_GT(info.file_bytes, 1'100'000u);
  EXPECT_EQ(info.cost, std::chrono::seconds(2));
  EXPECT_TRUE(info.log.empty());
  EXPECT_TRUE(info.attachment.empty());
}

TEST_F(Glance, SaysTheSameAsInspectOfLogAndAttachmentsAside) {
  const auto store = open();
  for (const std::size_t size : {0u, 1u, 3000u, 4000u, 5000u, 60'000u, 200'000u}) {
    Recipe recipe("kind");
    for (std::size_t left = size, part = 0; left > 0; left -= part) {
      part = std::min<std::size_t>(left, 50'000);
      recipe.add("part", std::string(part, 'x'));
    }
    ASSERT_TRUE(store->put(recipe, as_bytes("p"), {.cost = {}, .log = "log", .attachment = {}}));
    EntryInfo whole, part;
    ASSERT_EQ(store->inspect(recipe.key(), whole), Reason::none);
    ASSERT_EQ(store->glance(recipe.key(), part), Reason::none) << size;
    EXPECT_EQ(part.recipe, whole.recipe);
    EXPECT_EQ(part.key, whole.key);
    EXPECT_EQ(part.made_at_unix_ns, whole.made_at_unix_ns);
    EXPECT_EQ(part.used_at_unix_ns, whole.used_at_unix_ns);
    EXPECT_EQ(part.file_bytes, whole.file_bytes);
  }
}

TEST_F(Glance, NeverShowsADamagedRecipe) {
  const auto store = open();
  for (const std::size_t log_size : {std::size_t{10}, std::size_t{100'000}}) {
    const Recipe recipe = recipe_for("log " + std::to_string(log_size));
    const std::string log(log_size, 'l');
    store->put(recipe, as_bytes("p"), {.cost = {}, .log = log, .attachment = {}});
    const std::string sound = read_file(entry_path(recipe));
    for (std::size_t at = 0; at < 128 + recipe.canonical().size(); ++at) {
      std::string bytes = sound;
      bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
      write_file(entry_path(recipe), bytes);
      EntryInfo info;
      if (store->glance(recipe.key(), info) == Reason::none) {
        EXPECT_EQ(info.recipe, recipe.canonical()) << at;
      }
    }
    for (std::size_t size = 0; size < std::min<std::size_t>(400, sound.size()); ++size) {
      write_file(entry_path(recipe), sound.substr(0, size));
      EntryInfo info;
      EXPECT_NE(store->glance(recipe.key(), info), Reason::none) << size;
      EXPECT_EQ(info.file_bytes, size);
    }
  }
}

TEST_F(LookingTest, VerifyFindsDamageInEveryPieceOfALargeProduct) {
  const auto store = open();
  const Recipe recipe = recipe_for("large");
  constexpr std::size_t kSize = 1'000'000;
  store->put(recipe, as_bytes(std::string(kSize, 'x')));
  EntryInfo info;
  ASSERT_EQ(store->verify(recipe.key(), info), Reason::none);
  EXPECT_EQ(info.product_bytes, kSize);
  for (const std::size_t from_end : {std::size_t{1}, kSize / 2, kSize, kSize + 20}) {
    flip(recipe, from_end);
    EXPECT_EQ(store->verify(recipe.key(), info), Reason::corrupt) << from_end;
    flip(recipe, from_end);
  }
  EXPECT_EQ(store->verify(recipe.key(), info), Reason::none);
}

TEST_F(VerifyAndRemove, PutsAsideWhatIsDamagedAndNothingElse) {
  const auto store = open();
  const Recipe good = recipe_for("good"), bad = recipe_for("bad");
  store->put(good, as_bytes("x"));
  store->put(bad, as_bytes("x"));
  flip(bad, 1);
  EntryInfo info;
  bool is_gone = true;
  EXPECT_EQ(store->verify_and_remove(good.key(), info, is_gone), Reason::none);
  EXPECT_FALSE(is_gone);
  EXPECT_TRUE(exists(entry_path(good)));
  EXPECT_EQ(store->verify_and_remove(bad.key(), info, is_gone), Reason::corrupt);
  EXPECT_TRUE(is_gone);
  EXPECT_FALSE(exists(entry_path(bad)));
  EXPECT_EQ(count(EventKind::damaged), 1u);
  EXPECT_FALSE(std::filesystem::is_empty(version_path() + "/damaged"));
  store->forget_damaged();
  EXPECT_TRUE(std::filesystem::is_empty(version_path() + "/damaged"));
}

TEST_F(VerifyAndRemove, ChangesNothingInAStoreThatIsReadOnly) {
  const Recipe bad = recipe_for("bad");
  open()->put(bad, as_bytes("x"));
  flip(bad, 1);
  options_.read_only = true;
  const auto store = open();
  EntryInfo info;
  bool is_gone = true;
  EXPECT_EQ(store->verify_and_remove(bad.key(), info, is_gone), Reason::corrupt);
  EXPECT_FALSE(is_gone);
  EXPECT_TRUE(exists(entry_path(bad)));
}

TEST_F(LookingTest, AnEntryThatWasMadeElsewhereKeepsItsTime) {
  const auto store = open();
  store->put(recipe_for("a"), as_bytes("x"),
             {.cost = {}, .log = {}, .attachment = {}, .made_at_unix_ns = 12345});
  EXPECT_EQ(store->get(recipe_for("a")).entry.made_at_unix_ns, 12345);
}

}  // namespace
}  // namespace larder
