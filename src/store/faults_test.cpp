// The operating system's refusals: whatever call fails, once or for ever, requests end as a miss or as "not
// kept", no descriptor is lost, and what was kept stays right.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>

#include "base/faulty_file_system.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

constexpr int kErrors[] = {ENOSPC, EDQUOT, EIO,    EROFS,  EACCES, EMFILE, ENFILE,
                           ENOMEM, ESTALE, EINVAL, ENOSYS, EPERM,  ENOENT, EEXIST};

class StoreFaults : public StoreTest {
 protected:
  StoreFaults() { options_.files = &files_; }

  // Makes `run` with the n-th call failing, for every n it has; `check` looks at the result without faults.
  void fail_each_call(int error, bool for_ever, const std::function<void()>& prepare,
                      const std::function<void()>& run, const std::function<void()>& check) {
    for (std::uint64_t at = 0; at < 200; ++at) {
      files_.clear();
      prepare();
      const std::int64_t open_before = files_.open_descriptors();
      Fault fault;
      fault.at = at;
      fault.error = error;
      fault.for_ever = for_ever;
      files_.set(fault);
      run();
      const bool was_struck = files_.calls() > at;
      files_.clear();
      // The journal may have been opened meanwhile, once and for all.
      ASSERT_LE(files_.open_descriptors(), open_before + 1) << error << " at call " << at;
      check();
      if (!was_struck) return;
    }
    ADD_FAILURE() << "more calls than expected";
  }

  FaultyFileSystem files_;
  const Recipe old_ = recipe_for("old");
  const Recipe new_ = recipe_for("new");
  const std::string product_ = std::string(3000, 'p');
};

TEST_F(StoreFaults, APutThatFailsAnywhereKeepsAllOrNothing) {
  const auto store = open();
  ASSERT_TRUE(store->put(old_, as_bytes(product_)));
  for (const bool for_ever : {false, true}) {
    for (const int error : kErrors) {
      PutResult result;
      fail_each_call(
          error, for_ever, [&] { store->erase(new_.key()); },
          [&] { result = store->put(new_, as_bytes(product_)); },
          [&] {
            ASSERT_EQ(store->get(old_).entry.product.text(), product_);
            const Lookup found = store->get(new_);
            if (found) {
              ASSERT_EQ(found.entry.product.text(), product_);
            }
            if (result.state == PutState::stored) {
              ASSERT_TRUE(found);
            }
            if (result.state == PutState::not_kept) {
              ASSERT_NE(result.reason, Reason::none);
            }
          });
    }
  }
}

TEST_F(StoreFaults, APutThatFailsOnceLeavesNothingBehind) {
  const auto store = open();
  store->put(old_, as_bytes(product_));
  for (const FileCall call : {FileCall::write, FileCall::status, FileCall::close, FileCall::rename}) {
    store->erase(new_.key());
    Fault fault;
    fault.at = 0;
    fault.error = EIO;
    fault.only = call;
    files_.set(fault);
    store->put(new_, as_bytes(product_));
    files_.clear();
    EXPECT_TRUE(files_named(".new-").empty()) << name(call);
  }
}

TEST_F(StoreFaults, AGetThatFailsAnywhereIsAMissWithAReason) {
  const std::string large(200'000, 'l');
  const auto store = open();
  store->put(old_, as_bytes(product_));
  store->put(new_, as_bytes(large));
  for (const bool for_ever : {false, true}) {
    for (const int error : kErrors) {
      for (const Recipe* recipe : {&old_, &new_}) {
        for (const bool may_map : {false, true}) {
          Lookup found;
          fail_each_call(
              error, for_ever, [] {},
              [&] {
                found = store->get(*recipe, {.may_map = may_map});
                if (found) {
                  ASSERT_EQ(found.entry.product.text(), recipe == &old_ ? product_ : large);
                }
                found = {};
              },
              [&] { ASSERT_TRUE(store->get(*recipe)) << "a failing call is no reason to remove an entry"; });
        }
      }
    }
  }
}

TEST_F(StoreFaults, ReadsOnWhenTheSystemGivesLessThanAsked) {
  const std::string large(200'000, 'l');
  const auto store = open();
  files_.cut_reads(1000);
  files_.cut_writes(777);
  EXPECT_EQ(store->put(old_, as_bytes(large)).state, PutState::stored);
  EXPECT_EQ(store->get(old_).entry.product.text(), large);
  EXPECT_EQ(store->put(new_, as_bytes(product_)).state, PutState::stored);
  EXPECT_EQ(store->get(new_).entry.product.text(), product_);
}

TEST_F(StoreFaults, UpkeepThatFailsAnywhereLosesNoEntryItMustKeep) {
  options_.bytes_max = 1'000'000;
  const auto store = open();
  for (int i = 0; i < 8; ++i) store->put(recipe_for(i), as_bytes(product_));
  for (const bool for_ever : {false, true}) {
    for (const int error : {EIO, ENOSPC, EACCES, EMFILE}) {
      for (std::uint64_t at = 0; at < 120; at += 3) {
        Fault fault;
        fault.at = at;
        fault.error = error;
        fault.for_ever = for_ever;
        files_.set(fault);
        store->upkeep(std::chrono::seconds(1));
        files_.clear();
        for (int i = 0; i < 8; ++i) ASSERT_TRUE(store->get(recipe_for(i))) << error << " at " << at;
      }
    }
  }
  for (int i = 0; i < 20 && !store->upkeep(std::chrono::seconds(1), true).is_done;) ++i;
  EXPECT_EQ(store->usage().entries, 8u);
}

TEST_F(StoreFaults, UpkeepThatLacksDescriptorsForgetsNothing) {
  for (const bool for_ever : {false, true}) {
    for (std::uint64_t at = 0; at < 30; ++at) {
      std::filesystem::remove_all(options_.root);
      const auto store = open();
      for (int i = 0; i < 8; ++i) store->put(recipe_for(i), as_bytes(product_));
      if (at % 2 == 0) std::filesystem::remove(version_path() + "/totals");
      Fault fault;
      fault.at = at;
      fault.error = EMFILE;
      fault.for_ever = for_ever;
      fault.only = FileCall::open;
      files_.set(fault);
      store->upkeep(std::chrono::seconds(1));
      files_.clear();
      const StoreUsage usage = store->usage();
      EXPECT_TRUE(usage.entries >= 8 || !usage.is_exact) << "at call " << at << ", for ever: " << for_ever;
    }
  }
}

TEST_F(StoreFaults, OpeningThatFailsAnywhereIsAnErrorOrAStore) {
  options_.step_max = Nanoseconds{0};  // upkeep fails in a test of its own
  for (const int error : kErrors) {
    fail_each_call(
        error, false, [&] { std::filesystem::remove_all(options_.root); },
        [&] {
          auto store = Store::open(options_);
          if (store) (*store)->put(old_, as_bytes(product_));
        },
        [&] {
          auto store = Store::open(options_);
          ASSERT_TRUE(store) << store.error().what;
          (*store)->put(old_, as_bytes(product_));
          ASSERT_TRUE((*store)->get(old_));
          store->reset();
          ASSERT_EQ(files_.open_descriptors(), 0);
        });
  }
}

TEST_F(StoreFaults, SaysWhyItKeptNothing) {
  const auto store = open();
  store->put(old_, as_bytes(product_));
  const std::pair<int, Reason> cases[] = {
      {ENOSPC, Reason::out_of_space},     {EDQUOT, Reason::out_of_space},
      {EROFS, Reason::read_only},         {EACCES, Reason::unwritable},
      {EIO, Reason::unwritable},          {EMFILE, Reason::out_of_resources},
      {ENFILE, Reason::out_of_resources}, {ENOMEM, Reason::out_of_resources}};
  for (const auto& [error, reason] : cases) {
    files_.lack(FileCall::write, error);
    EXPECT_EQ(store->put(new_, as_bytes(product_)).reason, reason) << error;
    files_.lack(FileCall::write, 0);
  }
}

TEST_F(StoreFaults, PublishesWhereTheFileSystemLacksRenamingWithoutReplacing) {
  files_.lack_rename_flags(EINVAL);
  const auto store = open();
  EXPECT_EQ(store->put(old_, as_bytes(product_)).state, PutState::stored);
  EXPECT_TRUE(store->get(old_));
  EXPECT_TRUE(files_named(".new-").empty());
  files_.lack(FileCall::link, EPERM);
  EXPECT_EQ(store->put(new_, as_bytes(product_)).state, PutState::stored) << "nor hard links";
  EXPECT_TRUE(store->get(new_));
  EXPECT_TRUE(files_named(".new-").empty());
}

TEST_F(StoreFaults, StaysBoundedWhereTheFileSystemHasNoLocks) {
  files_.lack(FileCall::lock, ENOLCK);
  options_.bytes_max = 100'000;
  options_.step_max = std::chrono::seconds(10);
  const auto store = open();
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(store->put(recipe_for(i), as_bytes(product_)).state, PutState::stored);
  EXPECT_LE(store->usage().bytes, 105'000u);
  EXPECT_GT(store->usage().entries, 20u);
  EXPECT_EQ(store->wait_for_turn(new_.key()).turn, Turn::unavailable);
}

TEST_F(StoreFaults, DoesNotReplaceWhatAnotherPublishedFirst) {
  for (const bool lacks_flags : {false, true}) {
    files_.lack_rename_flags(lacks_flags ? EINVAL : 0);
    const auto store = open();
    const auto other = open();
    store->erase(new_.key());
    // The other process publishes between our look and our rename: the look is made to find nothing.
    other->put(new_, as_bytes("first"));
    Fault fault;
    fault.at = 0;
    fault.error = ENOENT;
    fault.only = FileCall::presence;
    files_.set(fault);
    EXPECT_EQ(store->put(new_, as_bytes("second")).state, PutState::already_there);
    files_.clear();
    EXPECT_EQ(store->get(new_).entry.product.text(), "first");
    EXPECT_TRUE(files_named(".new-").empty());
  }
}

TEST_F(StoreFaults, TriesOnceMoreWhenANetworkFileSystemLostTrack) {
  const auto store = open();
  store->put(old_, as_bytes(product_));
  for (const FileCall call : {FileCall::open, FileCall::status, FileCall::read}) {
    Fault fault;
    fault.at = 0;
    fault.error = ESTALE;
    fault.only = call;
    files_.set(fault);
    EXPECT_TRUE(store->get(old_)) << name(call);
    fault.for_ever = true;
    files_.set(fault);
    EXPECT_EQ(store->get(old_).reason, Reason::unreadable) << name(call);
    files_.clear();
  }
  for (const int error : {ESTALE, ENOENT}) {
    Fault fault;
    fault.at = 0;
    fault.error = error;
    fault.only = FileCall::rename;
    files_.set(fault);
    EXPECT_EQ(store->put(new_, as_bytes(product_)).state, PutState::stored);
    files_.clear();
    store->erase(new_.key());
  }
}

TEST_F(StoreFaults, WaitsForTheMediumOnlyWhenTold) {
  {
    const auto store = open();
    files_.clear();
    store->put(old_, as_bytes(product_));
    EXPECT_EQ(files_.calls(FileCall::sync), 0u);
  }
  options_.durable = true;
  const auto store = open();
  files_.clear();
  EXPECT_EQ(store->put(new_, as_bytes(product_)).state, PutState::stored);
  EXPECT_EQ(files_.calls(FileCall::sync), 2u) << "the file and the directory";
  store->erase(new_.key());
  files_.lack(FileCall::sync, EIO);
  EXPECT_EQ(store->put(new_, as_bytes(product_)).reason, Reason::unwritable);
}

TEST_F(StoreFaults, UsesNoMoreDescriptorsHoweverManyRequests) {
  options_.files = &FileSystem::posix();
  const auto store = open();
  store->put(old_, as_bytes(product_));
  store->put(new_, as_bytes(std::string(200'000, 'l')));
  store->upkeep(std::chrono::seconds(1));
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 2000; ++i) {
    store->get(old_);
    store->get(new_, {.may_map = true});
    store->get(recipe_for(i));
    store->put(recipe_for(i % 50), as_bytes("x"));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(StoreFaults, MapsNothingThatAnotherMachineCouldCut) {
  for (const bool is_local : {true, false}) {
    files_.pretend_space({.free_bytes = 1 << 30, .is_local = is_local});
    const auto store = open();
    store->put(old_, as_bytes(std::string(200'000, 'l')));
    files_.clear();
    const Lookup found = store->get(old_, {.may_map = true});
    EXPECT_EQ(found.entry.product.size(), 200'000u);
    EXPECT_EQ(files_.calls(FileCall::map), is_local ? 1u : 0u);
    EXPECT_EQ(store->get(old_).entry.product.size(), 200'000u);
    EXPECT_EQ(files_.calls(FileCall::map), is_local ? 1u : 0u) << "a copy unless a mapping was asked for";
  }
}

TEST_F(StoreFaults, GoesOnWhenItsDirectoryIsRemovedAgainAndAgain) {
  options_.files = &FileSystem::posix();
  const auto store = open();
  for (int round = 0; round < 5; ++round) {
    ASSERT_EQ(store->put(old_, as_bytes(product_)).state, PutState::stored) << round;
    ASSERT_TRUE(store->get(old_));
    store->upkeep(std::chrono::seconds(1));
    ASSERT_EQ(store->usage().entries, 1u);
    EXPECT_TRUE(exists(options_.root + "/CACHEDIR.TAG"));
    std::filesystem::remove_all(round % 2 == 0 ? options_.root : shard_path(old_));
    EXPECT_EQ(store->get(old_).reason, Reason::absent);
    store->upkeep(std::chrono::seconds(1), true);
  }
}

class StressStoreFaults : public StoreTest {};

TEST_F(StressStoreFaults, AMillionGetsUseNoMoreDescriptorsOrMappings) {
  const auto store = open();
  store->put(recipe_for("small"), as_bytes("x"));
  store->put(recipe_for("large"), as_bytes(std::string(100'000, 'l')));
  const auto mappings = [] {
    const std::string maps = read_file("/proc/self/maps");
    return std::count(maps.begin(), maps.end(), '\n');
  };
  for (int i = 0; i < 100; ++i) store->get(recipe_for("large"), {.may_map = true});
  const std::size_t descriptors = open_descriptors();
  const auto before = mappings();
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_TRUE(store->get(recipe_for(i % 50 == 0 ? "large" : "small"), {.may_map = i % 100 == 0}));
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LE(mappings(), before + 8);
}

TEST_F(StressStoreFaults, AGibibyteIsAProductLikeAnother) {
  options_.bytes_max = 0;
  const std::string product(std::size_t{1} << 30, 'g');
  const auto store = open();
  ASSERT_EQ(store->put(recipe_for("g"), as_bytes(product)).state, PutState::stored);
  EXPECT_TRUE(store->get(recipe_for("g")).entry.product.text() == product);
  EXPECT_TRUE(store->get(recipe_for("g"), {.may_map = true}).entry.product.text() == product);
  EXPECT_EQ(store->put(recipe_for("h"), as_bytes(product + "x")).reason, Reason::too_large);
}

// File systems that are full, read-only or strange.
class StoreMounts : public StoreTest {
 protected:
  ~StoreMounts() override {
    if (is_mounted_) ::umount2(options_.root.c_str(), MNT_DETACH);
  }
  // An empty tmpfs as the store's root, or false with `why`.
  bool mount_tmpfs(const std::string& how) {
    std::filesystem::create_directories(options_.root);
    is_mounted_ = ::mount("tmpfs", options_.root.c_str(), "tmpfs", 0, (how + ",mode=0700").c_str()) == 0;
    return is_mounted_;
  }
  static constexpr const char* kWhySkipped = "mounting a file system takes root";
  bool is_mounted_ = false;
};

TEST_F(StoreMounts, StaysRightOnADiskThatFillsUp) {
  if (!mount_tmpfs("size=1m")) GTEST_SKIP() << kWhySkipped;
  const std::string product(20'000, 'p');
  const auto store = open();
  int stored = 0;
  int refused = 0;
  for (int i = 0; i < 100; ++i) {
    const PutResult result = store->put(recipe_for(i), as_bytes(product));
    stored += result.state == PutState::stored ? 1 : 0;
    if (result.state == PutState::not_kept) {
      EXPECT_EQ(result.reason, Reason::out_of_space);
      ++refused;
    }
  }
  EXPECT_GT(stored, 30);
  EXPECT_GT(refused, 30);
  EXPECT_TRUE(files_named(".new-").empty());
  int hits = 0;
  for (int i = 0; i < 100; ++i) {
    if (const Lookup found = store->get(recipe_for(i))) {
      EXPECT_EQ(found.entry.product.text(), product);
      ++hits;
    }
  }
  EXPECT_EQ(hits, stored);
  // A process that starts on the full disk, the index gone.
  for (const char* file : {"/journal", "/totals", "/lock"}) std::filesystem::remove(version_path() + file);
  std::ofstream(options_.root + "/filler") << std::string(200'000, 'f');
  const auto fresh = open();
  for (int i = 0; i < 100; ++i) hits -= fresh->get(recipe_for(i)) ? 1 : 0;
  EXPECT_EQ(hits, 0);
}

TEST_F(StoreMounts, EvictsWhenTheDiskHasNoMoreRoom) {
  if (!mount_tmpfs("size=2m")) GTEST_SKIP() << kWhySkipped;
  options_.free_bytes_min = 500'000;
  options_.step_max = std::chrono::seconds(10);
  const std::string product(20'000, 'p');
  const auto store = open();
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(store->put(recipe_for(i), as_bytes(product)).state, PutState::stored) << i;
    store->upkeep(std::chrono::seconds(1));
  }
  EXPECT_GE(std::filesystem::space(options_.root).available, 400'000u);
}

TEST_F(StoreMounts, TreatsExhaustedInodesAsAFullDisk) {
  if (!mount_tmpfs("nr_inodes=40")) GTEST_SKIP() << kWhySkipped;
  const auto store = open();
  int stored = 0;
  for (int i = 0; i < 100; ++i) {
    const PutResult result = store->put(recipe_for(i), as_bytes("x"));
    stored += result.state == PutState::stored ? 1 : 0;
    if (result.state == PutState::not_kept) {
      EXPECT_EQ(result.reason, Reason::out_of_space);
    }
  }
  EXPECT_GT(stored, 5);
  for (int i = 0; i < 100; ++i) stored -= store->get(recipe_for(i)) ? 1 : 0;
  EXPECT_EQ(stored, 0);
}

TEST_F(StoreMounts, ServesHitsFromAReadOnlyMount) {
  if (!mount_tmpfs("size=4m")) GTEST_SKIP() << kWhySkipped;
  FakeClock clock(Clock::system().unix_ns());
  options_.clock = &clock;
  const Recipe recipe = recipe_for("a");
  open()->put(recipe, as_bytes("product"));
  ASSERT_EQ(::mount(nullptr, options_.root.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, "mode=0700"), 0);
  const auto store = open();
  clock.advance(std::chrono::hours(2));
  EXPECT_EQ(store->get(recipe).entry.product.text(), "product");
  EXPECT_EQ(store->put(recipe_for("b"), as_bytes("x")).reason, Reason::read_only);
  EXPECT_FALSE(store->erase(recipe.key()));
  EXPECT_FALSE(store->upkeep(std::chrono::seconds(1)).was_busy);
  write_file(scratch_.path() + "/x", "");
  EXPECT_EQ(count(EventKind::damaged), 0u);
}

TEST_F(StoreMounts, AsksNothingOfAStoreThatIsNotThereAndMayNotBeMade) {
  options_.read_only = true;
  const auto store = Store::open(options_);
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().code, Code::io);
  EXPECT_FALSE(exists(options_.root));
}

// Two mounts of one directory that do not see each other's changes at once: what two machines see on a
// network.
class StoreTwoMounts : public StoreMounts {
 protected:
  ~StoreTwoMounts() override {
    for (const std::string& mount : mounts_) {
      ::umount2(mount.c_str(), MNT_DETACH);
    }
  }
  bool mount_twice(bool with_locks) {
    const std::string real = scratch_.path() + "/real";
    std::filesystem::create_directories(real);
    ::chmod(real.c_str(), 0700);
    for (const char* name : {"/one", "/two"}) {
      const std::string mount = scratch_.path() + name;
      std::filesystem::create_directories(mount);
      const std::string command =
          "bindfs -o kernel_cache,attr_timeout=3,entry_timeout=3" +
          std::string(with_locks ? " --enable-lock-forwarding --multithreaded " : " ") + real + ' ' + mount +
          " >/dev/null 2>&1";
      if (std::system(command.c_str()) != 0) return false;
      mounts_.push_back(mount);
    }
    return true;
  }
  std::vector<std::string> mounts_;
};

TEST_F(StoreTwoMounts, ServeNothingWrongWhileTheyDisagree) {
  for (const bool with_locks : {false, true}) {
    if (!mount_twice(with_locks)) GTEST_SKIP() << "takes bindfs and FUSE";
    std::vector<std::unique_ptr<Store>> stores;
    for (const std::string& mount : mounts_) {
      options_.root = mount + "/root";
      stores.push_back(open());
      ASSERT_TRUE(stores.back());
    }
    int hits = 0;
    for (int round = 0; round < 200; ++round) {
      const int number = round * 7 % 40;
      const std::string product = "product of " + std::to_string(number) + std::string(2000, 'p');
      Store& mine = *stores[static_cast<std::size_t>(round % 2)];
      const Lookup found = mine.get(recipe_for(number));
      if (found) {
        ASSERT_EQ(found.entry.product.text(), product);
        ++hits;
      } else {
        const PutResult result = mine.put(recipe_for(number), as_bytes(product));
        ASSERT_TRUE(result || result.reason == Reason::unwritable) << static_cast<int>(result.reason);
      }
      if (round % 50 == 49) mine.erase(recipe_for(number).key());
    }
    EXPECT_GT(hits, 50);
    stores.clear();
    for (const std::string& mount : mounts_) ::umount2(mount.c_str(), MNT_DETACH);
    mounts_.clear();
    std::filesystem::remove_all(scratch_.path() + "/real");
  }
}

}  // namespace
}  // namespace larder
