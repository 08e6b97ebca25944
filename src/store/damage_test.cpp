// What is done to entries behind the store's back: every hit stays exactly what was put, anything else is a
// miss.
#include <cstring>

#include "format/entry.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

class StoreDamage : public StoreTest {
 protected:
  StoreDamage() { options_.removals_per_second = 0; }

  // Puts the entry, has `change` done to its file, and says what get makes of it.
  Reason after(Store& store, const std::function<void(const std::string& path)>& change) {
    store.put(recipe_, as_bytes(product_));
    change(entry_path(recipe_));
    const Lookup found = store.get(recipe_);
    if (found) {
      EXPECT_EQ(found.entry.product.text(), product_);
    }
    return found.reason;
  }

  const Recipe recipe_ = recipe_for("damaged");
  std::string product_ = std::string(700, 'p');
};

TEST_F(StoreDamage, MissesAndRemovesAnEntryWithAnyBitFlipped) {
  const auto store = open();
  store->put(recipe_, as_bytes(product_));
  const std::string good = read_file(entry_path(recipe_));
  ASSERT_GT(8 * good.size(), 7000u);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    std::string flipped = good;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    write_file(entry_path(recipe_), flipped);
    ::chmod(entry_path(recipe_).c_str(), 0600);
    const Reason reason = store->get(recipe_).reason;
    ASSERT_TRUE(reason == Reason::corrupt || reason == Reason::truncated) << "bit " << bit;
    ASSERT_FALSE(exists(entry_path(recipe_))) << "bit " << bit;
  }
}

TEST_F(StoreDamage, MissesAnEntryCutAtAnyLength) {
  const auto store = open();
  store->put(recipe_, as_bytes(product_));
  const std::string good = read_file(entry_path(recipe_));
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_file(entry_path(recipe_), good.substr(0, size));
    ::chmod(entry_path(recipe_).c_str(), 0600);
    ASSERT_EQ(store->get(recipe_).reason, Reason::truncated) << size;
  }
}

TEST_F(StoreDamage, MissesALargeEntryCutOrChangedAnywhere) {
  product_ = std::string(700'000, 'p');
  const auto store = open();
  for (const std::size_t at : {100u, 200u, 64'000u, 65'536u, 400'000u, 700'100u}) {
    EXPECT_EQ(after(*store, [&](const std::string& path) { std::filesystem::resize_file(path, at); }),
              Reason::truncated);
    EXPECT_EQ(after(*store,
                    [&](const std::string& path) {
                      std::string file = read_file(path);
                      file[at] = static_cast<char>(file[at] ^ 1);
                      write_file(path, file);
                    }),
              Reason::corrupt);
  }
}

TEST_F(StoreDamage, MissesGarbageBehindZerosAndHoles) {
  const auto store = open();
  EXPECT_EQ(after(*store, [](const std::string& path) { std::ofstream(path, std::ios::app) << "more"; }),
            Reason::corrupt);
  EXPECT_EQ(after(*store, [](const std::string& path) { write_file(path, std::string(1000, '\0')); }),
            Reason::corrupt);
  EXPECT_EQ(after(*store, [](const std::string& path) { write_file(path, ""); }), Reason::truncated);
  EXPECT_EQ(after(*store,
                  [](const std::string& path) {
                    std::filesystem::resize_file(path, 0);
                    std::filesystem::resize_file(path, std::uintmax_t{512} << 20);
                  }),
            Reason::corrupt);
}

TEST_F(StoreDamage, AllocatesNothingOnAFilesWordForItsSize) {
  const auto store = open();
  EXPECT_EQ(
      after(*store,
            [](const std::string& path) { std::filesystem::resize_file(path, std::uintmax_t{1} << 40); }),
      Reason::corrupt);
}

TEST_F(StoreDamage, MissesAnEntryMovedToAnothersPlace) {
  const auto store = open();
  const Recipe other = recipe_for("other");
  store->put(recipe_, as_bytes("one"));
  store->put(other, as_bytes("two"));
  const std::string swap = options_.root + "/swap";
  std::filesystem::rename(entry_path(recipe_), swap);
  std::filesystem::rename(entry_path(other), entry_path(recipe_));
  std::filesystem::rename(swap, entry_path(other));
  EXPECT_EQ(store->get(recipe_).reason, Reason::other_recipe);
  EXPECT_EQ(store->get(other).reason, Reason::other_recipe);
  EXPECT_FALSE(store->contains(recipe_.key())) << "what stands in a wrong place is removed";
}

TEST_F(StoreDamage, LeavesEntriesOfOtherVersionsUntouched) {
  const auto store = open();
  for (const std::uint32_t version : {0u, 2u}) {
    store->put(recipe_, as_bytes(product_));
    std::string file = read_file(entry_path(recipe_));
    const std::uint32_t complement = ~version;
    std::memcpy(file.data() + 8, &version, 4);
    std::memcpy(file.data() + 12, &complement, 4);
    write_file(entry_path(recipe_), file);
    EXPECT_EQ(store->get(recipe_).reason, Reason::other_version);
    EXPECT_EQ(store->put(recipe_, as_bytes(product_)).state, PutState::already_there);
    EXPECT_EQ(read_file(entry_path(recipe_)), file);
    std::filesystem::remove(entry_path(recipe_));
  }
}

TEST_F(StoreDamage, KeepsTheLastDamagedFilesForInspection) {
  const auto store = open();
  after(*store, [](const std::string& path) { write_file(path, "damaged"); });
  EXPECT_EQ(count(EventKind::damaged), 1u);
  std::size_t kept = 0;
  for (const auto& file : std::filesystem::directory_iterator(version_path() + "/damaged")) {
    EXPECT_EQ(read_file(file.path()), "damaged");
    ++kept;
  }
  EXPECT_EQ(kept, 1u);
}

TEST_F(StoreDamage, MakesRoomForANewEntry) {
  const auto store = open();
  EXPECT_EQ(after(*store, [](const std::string& path) { write_file(path, "damaged"); }), Reason::truncated);
  EXPECT_EQ(store->put(recipe_, as_bytes(product_)).state, PutState::stored);
  EXPECT_TRUE(store->get(recipe_));
  EXPECT_EQ(store->absence(recipe_for("never").key()), Reason::absent);
}

TEST_F(StoreDamage, BoundsTheRateOfRemovals) {
  options_.removals_per_second = 50;
  FakeClock clock(Clock::system().unix_ns());
  options_.clock = &clock;
  const auto store = open();
  for (int i = 0; i < 400; ++i) {
    store->put(recipe_for(i), as_bytes("x"));
    write_file(entry_path(recipe_for(i)), "damaged");
  }
  int missed = 0;
  const auto removed = [&] {
    int gone = 0;
    for (int i = 0; i < 400; ++i) gone += exists(entry_path(recipe_for(i))) ? 0 : 1;
    return gone;
  };
  for (int i = 0; i < 400; ++i) missed += store->get(recipe_for(i)).reason == Reason::truncated ? 1 : 0;
  EXPECT_EQ(missed, 400);
  EXPECT_EQ(count(EventKind::damaged), 400u);
  EXPECT_EQ(removed(), 50);
  clock.advance(std::chrono::seconds(1));
  for (int i = 0; i < 400; ++i) store->get(recipe_for(i));
  EXPECT_EQ(removed(), 100);
}

TEST_F(StoreDamage, IsSeenByVerifyWhichChangesNothing) {
  const auto store = open();
  EntryInfo info;
  store->put(recipe_, as_bytes(product_));
  EXPECT_EQ(store->verify(recipe_.key(), info), Reason::none);
  EXPECT_EQ(info.product_bytes, product_.size());
  std::string file = read_file(entry_path(recipe_));
  file.back() = 'q';
  write_file(entry_path(recipe_), file);
  EXPECT_EQ(store->verify(recipe_.key(), info), Reason::corrupt);
  EXPECT_EQ(store->inspect(recipe_.key(), info), Reason::none) << "the head is sound";
  EXPECT_TRUE(exists(entry_path(recipe_)));
  EXPECT_EQ(store->verify(recipe_for("never").key(), info), Reason::absent);
}

TEST_F(StoreDamage, DoesNotReachAPrivateCopy) {
  product_ = std::string(300'000, 'p');
  const auto store = open();
  store->put(recipe_, as_bytes(product_));
  const Lookup found = store->get(recipe_);
  ASSERT_TRUE(found);
  write_file(entry_path(recipe_), "somebody else's");
  EXPECT_EQ(found.entry.product.text(), product_) << "what was checked is what is used";
}

TEST_F(StoreDamage, AFileThatIsTooLargeForItsHeaderDoesNotBlockItsKey) {
  options_.entry_bytes_max = 1000;
  const auto store = open();
  EXPECT_NE(
      after(*store,
            [](const std::string& path) { std::filesystem::resize_file(path, std::uintmax_t{100} << 20); }),
      Reason::too_large);
  EXPECT_FALSE(exists(entry_path(recipe_)));
  EXPECT_TRUE(store->put(recipe_, as_bytes(product_)));
  EXPECT_TRUE(store->get(recipe_));
  // Kept when larger ones were allowed, it is no damage.
  options_.entry_bytes_max = 0;
  const Recipe large = recipe_for("large");
  ASSERT_TRUE(open()->put(large, as_bytes(std::string(std::size_t{70} << 20, 'l'))));
  options_.entry_bytes_max = 1000;
  EXPECT_EQ(open()->get(large).reason, Reason::too_large);
  EXPECT_TRUE(exists(entry_path(large)));
}

}  // namespace
}  // namespace larder
