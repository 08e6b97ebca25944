#include "store/upkeep.hpp"

#include <functional>

#include "base/faulty_file_system.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::int64_t real_now() {
  return Clock::system().unix_ns();
}

class StoreUpkeep : public StoreTest {
 protected:
  // Long enough that no step ends for want of time on a busy machine.
  StoreUpkeep() { options_.step_max = seconds(20); }

  // Steps until nothing is left to do.
  UpkeepReport settle(Store& store, bool everything = false) {
    UpkeepReport all;
    for (int i = 0; i < 1000 && !all.is_done; ++i) {
      const UpkeepReport one = store.upkeep(seconds(1), everything);
      all.is_done = one.is_done;
      all.evicted_entries += one.evicted_entries;
      all.evicted_bytes += one.evicted_bytes;
      all.swept_files += one.swept_files;
    }
    EXPECT_TRUE(all.is_done);
    return all;
  }
  std::uint64_t bytes_on_disk() const {
    std::uint64_t all = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.root)) {
      if (entry.is_regular_file() && entry.path().filename().string().size() == 30) all += entry.file_size();
    }
    return all;
  }
  std::uint64_t journal_bytes() const {
    std::uint64_t all = 0;
    for (const std::string& path : files_named("journal")) all += std::filesystem::file_size(path);
    return all;
  }
  // Puts `count` entries of `bytes` that cost `cost` each, numbered from `first`.
  void fill(Store& store, int first, int count, std::size_t bytes, Nanoseconds cost = milliseconds(100)) {
    const std::string product(bytes, 'p');
    PutOptions with;
    with.cost = cost;
    for (int i = first; i < first + count; ++i) store.put(recipe_for(i), as_bytes(product), with);
  }
};

// format.md: each may be removed at any time, so what is none of them gives way.
TEST_F(StoreUpkeep, ReplacesWhatIsNoFileInThePlaceOfTheIndex) {
  using Make = std::function<int(const std::string&)>;
  const Make kinds[] = {[](const std::string& path) { return ::mkfifo(path.c_str(), 0600); },
                        [](const std::string& path) { return ::mkdir(path.c_str(), 0700); },
                        [](const std::string& path) { return ::symlink("/dev/zero", path.c_str()); }};
  const auto store = open();
  fill(*store, 0, 30, 1000);
  settle(*store);
  unsigned kept = 30;
  for (const Make& make : kinds) {
    for (const std::string& path : {version_path() + "/totals", version_path() + "/journal",
                                    version_path() + "/journal.old", shard_path(recipe_for(0)) + "/index"}) {
      std::filesystem::remove(path);
      ASSERT_EQ(make(path), 0) << path;
      const auto other = open();
      fill(*other, static_cast<int>(kept++), 1, 1000);
      settle(*other, true);
      settle(*other);  // folds what was told while journal.old was none
      const bool is_away = !exists(path) || S_ISREG(mode_of(path));
      EXPECT_TRUE(is_away) << path;
      EXPECT_TRUE(other->usage().is_exact) << path;
      EXPECT_EQ(other->usage().entries, kept) << path;
      EXPECT_EQ(other->usage().bytes, bytes_on_disk()) << path;
    }
  }
}

TEST_F(StoreUpkeep, CountsWhatIsKept) {
  const auto store = open();
  fill(*store, 0, 50, 1000);
  EXPECT_EQ(store->usage().entries, 50u);
  EXPECT_EQ(store->usage().bytes, bytes_on_disk());
  settle(*store);
  EXPECT_EQ(store->usage().entries, 50u);
  EXPECT_EQ(store->usage().bytes, bytes_on_disk());
  EXPECT_TRUE(store->usage().is_exact);
  store->erase(recipe_for(7).key());
  EXPECT_EQ(store->usage().entries, 49u);
  EXPECT_EQ(store->usage().bytes, bytes_on_disk());
}

TEST_F(StoreUpkeep, KeepsTheStoreUnderItsCap) {
  options_.bytes_max = 200'000;
  const auto store = open();
  for (int i = 0; i < 500; ++i) {
    fill(*store, i, 1, 2000);
    ASSERT_LE(bytes_on_disk(), 210'000u);
  }
  EXPECT_GE(bytes_on_disk(), 150'000u);
  EXPECT_GT(count(EventKind::evicted), 300u);
}

TEST_F(StoreUpkeep, EvictsToHalfWhenTold) {
  options_.bytes_max = 1'000'000;
  options_.low_water = 0.5;
  const auto store = open();
  fill(*store, 0, 90, 10'000);
  ASSERT_EQ(count(EventKind::evicted), 0u);
  std::size_t kept = 90;
  for (int i = 90; count(EventKind::evicted) == 0; ++i) {
    fill(*store, i, 1, 10'000);
    kept = store->usage().entries;
  }
  EXPECT_NEAR(static_cast<double>(kept), 49, 3);
}

TEST_F(StoreUpkeep, KeepsWhatIsDearOverWhatIsCheap) {
  options_.bytes_max = 400'000;
  const auto store = open();
  fill(*store, 0, 20, 5000, seconds(10));
  fill(*store, 1000, 200, 5000, milliseconds(1));
  int kept = 0;
  for (int i = 0; i < 20; ++i) kept += store->contains(recipe_for(i).key()) ? 1 : 0;
  EXPECT_GE(kept, 19);
}

TEST_F(StoreUpkeep, RemembersWhyAnEntryIsGone) {
  options_.bytes_max = 100'000;
  const auto store = open();
  fill(*store, 0, 60, 2000);
  int evicted = 0;
  for (int i = 0; i < 60; ++i) {
    if (!store->contains(recipe_for(i).key())) {
      EXPECT_EQ(store->absence(recipe_for(i).key()), Reason::evicted);
      ++evicted;
    }
  }
  EXPECT_GT(evicted, 0);
  EXPECT_EQ(store->absence(recipe_for("never").key()), Reason::absent);
  for (int i = 0; i < 60; ++i) {
    if (store->erase(recipe_for(i).key())) {
      EXPECT_EQ(store->absence(recipe_for(i).key()), Reason::cleared);
      break;
    }
  }
}

TEST_F(StoreUpkeep, ServesNothingThatWasUnusedForTheWholeAge) {
  FakeClock clock(real_now());
  options_.clock = &clock;
  const auto store = open();
  fill(*store, 1, 1, 100);
  clock.advance(hours(24 * 6));
  EXPECT_TRUE(store->get(recipe_for(1)));
  clock.advance(hours(24 * 6));
  EXPECT_TRUE(store->get(recipe_for(1))) << "its last use is what counts";
  clock.advance(hours(24 * 8));
  EXPECT_EQ(store->get(recipe_for(1)).reason, Reason::expired);
  EXPECT_FALSE(store->contains(recipe_for(1).key()));
  EXPECT_EQ(store->absence(recipe_for(1).key()), Reason::expired);
}

TEST_F(StoreUpkeep, RemovesWhatNobodyUsedForTheWholeAge) {
  FakeClock clock(real_now());
  options_.clock = &clock;
  const auto store = open();
  fill(*store, 0, 40, 100);
  settle(*store);
  clock.advance(hours(24 * 5));
  for (int i = 0; i < 10; ++i) store->get(recipe_for(i));
  clock.advance(hours(24 * 5));
  settle(*store, true);
  EXPECT_EQ(store->usage().entries, 10u);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(store->contains(recipe_for(i).key()));
}

TEST_F(StoreUpkeep, TouchesAnEntryOnlyWhenItsLastUseIsLongAgo) {
  FaultyFileSystem files;
  FakeClock clock(real_now());
  options_.files = &files;
  options_.clock = &clock;
  const auto store = open();
  fill(*store, 1, 1, 100);
  files.clear();
  for (int i = 0; i < 100; ++i) store->get(recipe_for(1));
  EXPECT_EQ(files.calls(FileCall::set_times), 0u);
  EXPECT_EQ(files.calls(FileCall::write), 0u);
  clock.advance(hours(2));
  for (int i = 0; i < 100; ++i) store->get(recipe_for(1));
  EXPECT_EQ(files.calls(FileCall::set_times), 1u);
}

class StoreIndexLoss : public StoreUpkeep, public ::testing::WithParamInterface<const char*> {};

// The entries are the truth: whatever happens to the index, they are found, counted and evicted again.
TEST_P(StoreIndexLoss, CostsNothingButCounting) {
  options_.bytes_max = 1'000'000;
  {
    const auto store = open();
    fill(*store, 0, 80, 5000);
    settle(*store);
  }
  const std::string how = GetParam();
  for (const char* name : {"journal", "totals", "index"}) {
    for (const std::string& path : files_named(name)) {
      const std::string content = read_file(path);
      if (how == "removed") std::filesystem::remove(path);
      if (how == "emptied") write_file(path, "");
      if (how == "truncated") write_file(path, content.substr(0, content.size() / 2 + 7));
      if (how == "overwritten") write_file(path, std::string(content.size() + 1000, '\x5a'));
      if (how == "replaced by directories") {
        std::filesystem::remove(path);
        std::filesystem::create_directory(path);
      }
      if (how == "unreadable") ::chmod(path.c_str(), 0);
      if (how == "writable for all") ::chmod(path.c_str(), 0666);
    }
  }
  const auto store = open();
  for (int i = 0; i < 80; ++i) ASSERT_TRUE(store->get(recipe_for(i)));
  fill(*store, 80, 100, 5000);
  EXPECT_TRUE(store->get(recipe_for(179)));
  settle(*store, true);
  EXPECT_LE(bytes_on_disk(), 1'050'000u);
  if (how != "replaced by directories") {
    EXPECT_EQ(store->usage().bytes, bytes_on_disk());
  }
}

INSTANTIATE_TEST_SUITE_P(Index, StoreIndexLoss,
                         ::testing::Values("removed", "emptied", "truncated", "overwritten",
                                           "replaced by directories", "unreadable", "writable for all"),
                         [](const auto& how) {
                           std::string name = how.param;
                           std::replace(name.begin(), name.end(), ' ', '_');
                           return name;
                         });

TEST_F(StoreUpkeep, FindsEntriesThatTheIndexNeverHeardOf) {
  {
    const auto store = open();
    fill(*store, 0, 30, 1000);
  }
  std::filesystem::remove(version_path() + "/journal");
  const auto store = open();
  settle(*store, true);
  EXPECT_EQ(store->usage().entries, 30u);
}

TEST_F(StoreUpkeep, SweepsWhatDeadWritersLeftAfterAnHour) {
  FakeClock clock(real_now());
  options_.clock = &clock;
  const auto store = open();
  fill(*store, 1, 1, 100);
  const std::string orphan = shard_path(recipe_for(1)) + "/.new-0123456789abcdef";
  write_file(orphan, "half an entry");
  settle(*store, true);
  EXPECT_TRUE(exists(orphan));
  clock.advance(hours(2));
  EXPECT_EQ(settle(*store, true).swept_files, 1u);
  EXPECT_FALSE(exists(orphan));
}

TEST_F(StoreUpkeep, NeverRemovesWhatIsNotItsOwn) {
  FakeClock clock(real_now());
  options_.clock = &clock;
  options_.bytes_max = 50'000;
  const auto store = open();
  fill(*store, 0, 20, 1000);
  std::vector<std::string> foreign;
  for (const char* name :
       {"Thumbs.db", ".nfs000000000001", ".new-short", ".new-0123456789ABCDEF", "notes.txt",
        "0123456789abcdef0123456789abcd.bak", "0123456789ABCDEF0123456789ABCD"}) {
    foreign.push_back(shard_path(recipe_for(1)) + '/' + name);
    foreign.push_back(version_path() + '/' + name);
    foreign.push_back(options_.root + '/' + name);
  }
  for (const std::string& path : foreign) write_file(path, "mine");
  const std::string directory = shard_path(recipe_for(1)) + "/0123456789abcdef0123456789abcd";
  std::filesystem::create_directory(directory);
  clock.advance(hours(24 * 30));
  settle(*store, true);
  fill(*store, 100, 200, 1000);
  for (const std::string& path : foreign) EXPECT_EQ(read_file(path), "mine") << path;
  EXPECT_TRUE(exists(directory));
}

TEST_F(StoreUpkeep, ComesToAnEndInStepsThatAreTooShortForAnything) {
  options_.step_max = Nanoseconds{0};
  {
    const auto store = open();
    fill(*store, 0, 400, 1000);
    for (const char* name : {"totals", "journal"}) std::filesystem::remove(version_path() + '/' + name);
    fill(*store, 400, 200, 1000);
  }
  options_.bytes_max = 300'000;
  const auto store = open();
  int steps = 0;
  // Each counts or folds a shard, removes an entry or compares a shard.
  for (bool is_done = false; !is_done && steps < 5000; ++steps) {
    is_done = store->upkeep(Nanoseconds{0}, true).is_done;
  }
  EXPECT_LT(steps, 256 + 256 + 600 + 256);
  EXPECT_EQ(journal_bytes(), 0u);
  EXPECT_LE(bytes_on_disk(), 300'000u);
}

TEST_F(StoreUpkeep, KeepsItsJournalShortInStepsThatAreTooShortForAnything) {
  options_.step_max = Nanoseconds{0};
  const auto store = open();
  std::uint64_t longest = 0;
  for (int i = 0; i < 7000; i += 50) {
    fill(*store, i, 50, 10);
    longest = std::max(longest, journal_bytes());
  }
  // A fold takes 256 steps of one shard each, one for every eight puts; as many come in while it goes on.
  EXPECT_LT(longest, std::uint64_t{2 * 256 * 8 + 1000} * format::kIndexRecordSize);
}

using StressStoreUpkeep = StoreUpkeep;

TEST_F(StressStoreUpkeep, IgnoresAHundredThousandFilesOfOthers) {
  FakeClock clock(real_now());
  options_.clock = &clock;
  const auto store = open();
  fill(*store, 0, 500, 1000);
  const std::uint64_t bytes = store->usage().bytes;
  std::size_t left = 100'000;
  for (unsigned shard = 0; left > 0; shard = (shard + 1) % layout::kShardCount) {
    const std::string folder = version_path() + '/' + layout::shard_path(shard).c_str() + '/';
    if (!exists(folder)) continue;
    for (const char* name :
         {"Thumbs.db", ".nfs00000000", ".new-of-others-", "entry.tmp", "0123456789abcdef"}) {
      write_file(folder + name + std::to_string(left), "mine");
      --left;
    }
  }
  clock.advance(hours(2));
  settle(*store, true);
  EXPECT_EQ(store->usage().entries, 500u);
  EXPECT_EQ(store->usage().bytes, bytes);
  std::size_t keys = 0;
  store->for_each_key([&](const Key&) { return ++keys, true; });
  EXPECT_EQ(keys, 500u);
  for (int i = 0; i < 500; ++i) EXPECT_TRUE(store->get(recipe_for(i)));
  // Even when all that is larder's has to go.
  clock.advance(hours(24 * 30));
  settle(*store, true);
  EXPECT_EQ(store->usage().entries, 0u);
  std::size_t foreign = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(version_path())) {
    foreign += entry.is_regular_file() && entry.file_size() == 4 ? 1 : 0;
  }
  EXPECT_GE(foreign, 100'000u);
}

TEST_F(StoreUpkeep, GoesOnEvictingWhenTheClockJumps) {
  for (const std::int64_t years : {-10, 10, 30}) {
    FakeClock clock(real_now());
    options_.clock = &clock;
    options_.bytes_max = 100'000;
    const auto store = open();
    fill(*store, 0, 40, 2000);
    clock.set_unix_ns(real_now() + years * 365 * 24 * 3600 * 1'000'000'000);
    for (int i = 100; i < 200; ++i) {
      fill(*store, i, 1, 2000);
      ASSERT_LE(bytes_on_disk(), 105'000u) << years;
    }
    EXPECT_TRUE(store->get(recipe_for(199))) << years;
    std::filesystem::remove_all(options_.root);
  }
}

TEST_F(StoreUpkeep, DoesNotTrustFilesFromTheFuture) {
  FakeClock clock(real_now());
  options_.clock = &clock;
  const auto store = open();
  fill(*store, 1, 1, 100);
  const timespec future[2] = {{4'102'444'800, 0}, {4'102'444'800, 0}};  // the year 2100
  ASSERT_EQ(::utimensat(AT_FDCWD, entry_path(recipe_for(1)).c_str(), future, 0), 0);
  EXPECT_TRUE(store->get(recipe_for(1)));
  clock.advance(hours(24 * 8));
  EXPECT_EQ(store->get(recipe_for(1)).reason, Reason::expired);
}

TEST_F(StoreUpkeep, RefusesWhatExceedsItsLimits) {
  options_.entry_bytes_min = 10;
  options_.entry_bytes_max = 1000;
  options_.bytes_max = 900;
  const auto store = open();
  EXPECT_EQ(store->put(recipe_for(1), as_bytes(std::string(9, 'x'))).reason, Reason::too_small);
  EXPECT_EQ(store->put(recipe_for(1), as_bytes(std::string(1001, 'x'))).reason, Reason::too_large);
  EXPECT_EQ(store->put(recipe_for(1), as_bytes(std::string(1000, 'x'))).reason, Reason::too_large);
  EXPECT_EQ(store->put(recipe_for(1), as_bytes(std::string(500, 'x'))).state, PutState::stored);
  EXPECT_EQ(store->put(recipe_for(2), as_bytes(std::string(500, 'x'))).state, PutState::stored);
  EXPECT_FALSE(store->contains(recipe_for(1).key())) << "there is room for one only";
}

TEST_F(StoreUpkeep, TakesZeroAsNoLimit) {
  options_.bytes_max = 0;
  options_.age_max = Nanoseconds{0};
  options_.entry_bytes_max = 0;
  FakeClock clock(real_now());
  options_.clock = &clock;
  const auto store = open();
  fill(*store, 0, 100, 10'000);
  clock.advance(hours(24 * 365 * 5));
  settle(*store, true);
  EXPECT_EQ(store->usage().entries, 100u);
  EXPECT_TRUE(store->get(recipe_for(0)));
}

TEST_F(StoreUpkeep, RefusesInsteadOfEvictingWhenTold) {
  options_.bytes_max = 10'000;
  options_.evicts = false;
  const auto store = open();
  fill(*store, 0, 20, 1000);
  EXPECT_EQ(store->put(recipe_for(99), as_bytes(std::string(5000, 'x'))).reason, Reason::out_of_space);
  EXPECT_TRUE(store->get(recipe_for(0)));
  EXPECT_EQ(count(EventKind::evicted), 0u);
  EXPECT_LE(bytes_on_disk(), 10'000u);
}

TEST_F(StoreUpkeep, LeavesTheDiskItsMinimumOfFreeSpace) {
  FaultyFileSystem files;
  options_.files = &files;
  options_.free_bytes_min = 1'000'000;
  const auto store = open();
  files.pretend_space({.free_bytes = 1'500'000, .is_local = true});
  EXPECT_TRUE(store->put(recipe_for(1), as_bytes(std::string(1000, 'x'))));
  files.pretend_space({.free_bytes = 900'000, .is_local = true});
  EXPECT_EQ(open()->put(recipe_for(2), as_bytes(std::string(1000, 'x'))).reason, Reason::out_of_space);
  EXPECT_FALSE(store->contains(recipe_for(1).key())) << "what can be made again makes room first";
}

TEST_F(StoreUpkeep, DoesNothingWhileAnotherProcessIsAtIt) {
  const auto store = open();
  fill(*store, 0, 3, 100);
  settle(*store);
  const int lock = ::open((version_path() + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  struct flock range {};
  range.l_type = F_WRLCK;
  ASSERT_EQ(::fcntl(lock, F_OFD_SETLK, &range), 0);
  EXPECT_TRUE(store->upkeep(seconds(1)).was_busy);
  ::close(lock);
  EXPECT_FALSE(store->upkeep(seconds(1)).was_busy);
}

TEST_F(StoreUpkeep, FoldsItsJournalAwayInTime) {
  const auto store = open();
  for (int i = 0; i < 3000; ++i) store->put(recipe_for(i), as_bytes("x"));
  EXPECT_LE(journal_bytes(), 3000u * 64);
  settle(*store);
  EXPECT_EQ(journal_bytes(), 0u);
  EXPECT_EQ(store->usage().entries, 3000u);
}

TEST_F(StoreUpkeep, DropsAJournalThatNobodyFolded) {
  {
    const auto store = open();
    fill(*store, 0, 10, 100);
  }
  std::filesystem::resize_file(version_path() + "/journal", 100 << 20);
  const auto store = open();
  settle(*store);
  settle(*store);
  EXPECT_EQ(store->usage().entries, 10u);
  EXPECT_LT(journal_bytes(), 1000u);
}

}  // namespace
}  // namespace larder
