#include "store/store.hpp"

#include <algorithm>

#include "base/faulty_file_system.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

class StoreBasics : public StoreTest {};

TEST_F(StoreBasics, GivesBackWhatWasPut) {
  const auto store = open();
  const Recipe recipe = recipe_for("a");
  EXPECT_EQ(store->get(recipe).reason, Reason::absent);
  PutOptions with;
  with.cost = std::chrono::milliseconds(250);
  with.log = "two warnings";
  with.attachment = as_bytes("the source");
  EXPECT_EQ(store->put(recipe, as_bytes("product"), with).state, PutState::stored);

  const Lookup found = store->get(recipe);
  ASSERT_TRUE(found);
  EXPECT_EQ(found.entry.product.text(), "product");
  EXPECT_EQ(found.entry.log, "two warnings");
  EXPECT_EQ(as_text(found.entry.attachment), "the source");
  EXPECT_EQ(found.entry.cost, std::chrono::milliseconds(250));
  EXPECT_GT(found.entry.made_at_unix_ns, 0);
}

TEST_F(StoreBasics, KeepsEntriesForTheNextProcess) {
  open()->put(recipe_for("a"), as_bytes("product"));
  const auto store = open();
  EXPECT_EQ(store->get(recipe_for("a")).entry.product.text(), "product");
}

TEST_F(StoreBasics, KeepsEveryKindOfProduct) {
  const auto store = open();
  int number = 0;
  for (const std::size_t size : {0u, 1u, 63u, 64u, 4096u, 65535u, 65536u, 300'000u, 5'000'000u}) {
    std::string product(size, '\0');
    for (std::size_t i = 0; i < size; ++i) product[i] = static_cast<char>(i * 2654435761u >> 13);
    const Recipe recipe = recipe_for(number++);
    ASSERT_EQ(store->put(recipe, as_bytes(product)).state, PutState::stored) << size;
    EXPECT_EQ(store->get(recipe).entry.product.text(), product);
    EXPECT_EQ(store->get(recipe, {.may_map = true}).entry.product.text(), product);
  }
}

TEST_F(StoreBasics, LeavesAnEntryThatIsThereAlone) {
  const auto store = open();
  store->put(recipe_for("a"), as_bytes("first"));
  EXPECT_EQ(store->put(recipe_for("a"), as_bytes("second")).state, PutState::already_there);
  EXPECT_EQ(store->get(recipe_for("a")).entry.product.text(), "first");
}

TEST_F(StoreBasics, ForgetsWhatIsErased) {
  const auto store = open();
  store->put(recipe_for("a"), as_bytes("product"));
  EXPECT_TRUE(store->contains(recipe_for("a").key()));
  EXPECT_TRUE(store->erase(recipe_for("a").key()));
  EXPECT_FALSE(store->erase(recipe_for("a").key()));
  EXPECT_FALSE(store->contains(recipe_for("a").key()));
  EXPECT_FALSE(store->get(recipe_for("a")));
}

TEST_F(StoreBasics, ServesNoOtherRecipesProductWhenKeysCollide) {
  const auto store = open();
  const Recipe one = recipe_for("one");
  const Recipe two = recipe_for("two");
  store->put(one, one.key(), as_bytes("product of one"));
  EXPECT_EQ(store->get(two, one.key()).reason, Reason::other_recipe);
  EXPECT_EQ(store->put(two, one.key(), as_bytes("product of two")).state, PutState::already_there);
  EXPECT_EQ(store->get(two, one.key()).reason, Reason::other_recipe);
  EXPECT_EQ(store->get(one).entry.product.text(), "product of one");
}

TEST_F(StoreBasics, TellsOfAnEntryWithoutReadingItsProduct) {
  FaultyFileSystem files;
  options_.files = &files;
  const auto store = open();
  const Recipe recipe = recipe_for("large");
  PutOptions with;
  with.log = "said little";
  store->put(recipe, as_bytes(std::string(1'000'000, 'x')), with);
  files.clear();
  const std::uint64_t before = files.bytes_read();
  EntryInfo info;
  ASSERT_EQ(store->inspect(recipe.key(), info), Reason::none);
  EXPECT_EQ(info.recipe, recipe.canonical());
  EXPECT_EQ(info.log, "said little");
  EXPECT_EQ(info.product_bytes, 1'000'000u);
  EXPECT_LE(files.bytes_read() - before, 4096u);
}

TEST_F(StoreBasics, VisitsEveryEntryOnce) {
  const auto store = open();
  std::vector<Key> expected;
  for (int i = 0; i < 300; ++i) {
    store->put(recipe_for(i), as_bytes("x"));
    expected.push_back(recipe_for(i).key());
  }
  std::vector<Key> visited;
  store->for_each_key([&](const Key& key) {
    visited.push_back(key);
    return true;
  });
  std::sort(expected.begin(), expected.end());
  std::sort(visited.begin(), visited.end());
  EXPECT_EQ(visited, expected);
}

TEST_F(StoreBasics, MissesWithOneSystemCall) {
  FaultyFileSystem files;
  options_.files = &files;
  const auto store = open();
  store->put(recipe_for("a"), as_bytes("x"));
  files.clear();
  EXPECT_EQ(store->get(recipe_for("b")).reason, Reason::absent);
  EXPECT_EQ(files.calls(), 1u);
}

// Every file and directory with what it holds and when it was last changed.
std::vector<std::string> everything_in(const std::string& root) {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    struct stat status {};
    ::lstat(entry.path().c_str(), &status);
    all.push_back(entry.path().string() + ' ' + std::to_string(status.st_size) + ' ' +
                  std::to_string(status.st_mtim.tv_sec) + '.' + std::to_string(status.st_mtim.tv_nsec) + ' ' +
                  std::to_string(status.st_mode) + ' ' + std::to_string(status.st_ino));
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_F(StoreBasics, ChangesNothingWhenItIsReadOnly) {
  FakeClock clock(Clock::system().unix_ns());
  options_.clock = &clock;
  {
    const auto store = open();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(store->put(recipe_for(i), as_bytes(std::string_view("product"))));
    // No index: what reads it must not make one.
    for (const char* name : {"journal", "journal.old", "totals", "lock"}) {
      std::filesystem::remove(version_path() + '/' + name);
    }
    write_file(entry_path(recipe_for(2)), "damaged");
  }
  const auto before = everything_in(options_.root);
  options_.read_only = true;
  const auto store = open();
  clock.advance(std::chrono::hours(24));  // long enough for a touch
  EXPECT_TRUE(store->get(recipe_for(0)));
  EXPECT_EQ(store->get(recipe_for(2)).reason, Reason::truncated);
  EXPECT_EQ(store->get(recipe_for(3)).reason, Reason::absent);
  clock.advance(std::chrono::hours(24 * 365));
  EXPECT_EQ(store->get(recipe_for(1)).reason, Reason::expired);
  EXPECT_EQ(store->put(recipe_for(4), as_bytes(std::string_view("product"))).reason, Reason::read_only);
  EXPECT_FALSE(store->erase(recipe_for(0).key()));
  EXPECT_EQ(store->absence(recipe_for(3).key()), Reason::absent);
  EXPECT_EQ(store->wait_for_turn(recipe_for(3).key()).turn, Turn::mine);
  store->upkeep(std::chrono::seconds(1), true);
  store->usage();
  store->forget_damaged();
  EXPECT_FALSE(store->notes().append("misses", "text", 100, "misses.old"));
  EXPECT_FALSE(store->notes().replace("verify", "text"));
  EXPECT_FALSE(store->notes().alone([] { ADD_FAILURE(); }));
  EXPECT_EQ(everything_in(options_.root), before);
}

// The same of one request to a store that others may write to.
TEST_F(StoreBasics, LeavesNoTraceOfAGetThatMayNotWrite) {
  FakeClock clock(Clock::system().unix_ns());
  options_.clock = &clock;
  const auto store = open();
  ASSERT_TRUE(store->put(recipe_for(0), as_bytes(std::string_view("product"))));
  const auto before = everything_in(options_.root);
  clock.advance(std::chrono::hours(24));
  EXPECT_TRUE(store->get(recipe_for(0), {.read_only = true}));
  clock.advance(std::chrono::hours(24 * 365));
  EXPECT_EQ(store->get(recipe_for(0), {.read_only = true}).reason, Reason::expired);
  EXPECT_EQ(everything_in(options_.root), before);
}

}  // namespace
}  // namespace larder
