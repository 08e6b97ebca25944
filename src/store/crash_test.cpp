// Death in the middle: a writer killed between any two system calls, or at any time, loses at most what it
// had not yet published, and leaves nothing that could be taken for an entry.
#include <sys/mman.h>
#include <sys/wait.h>

#include <csignal>
#include <random>

#include "base/faulty_file_system.hpp"
#include "store/store_test_kit.hpp"

namespace larder {
namespace {

class StoreCrash : public StoreTest {
 protected:
  // Runs `body` in a child; true when it died by a signal.
  static bool dies(const std::function<void()>& body) {
    const pid_t child = fork_process();
    if (child == 0) {
      body();
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status);
  }
};

TEST_F(StoreCrash, BetweenAnyTwoCallsOfAPutLeavesTheOldStateOrTheNew) {
  const Recipe old = recipe_for("old");
  const Recipe fresh = recipe_for("new");
  open()->put(old, as_bytes("old product"));
  for (const bool durable : {false, true}) {
    options_.durable = durable;
    int lost = 0;
    int kept = 0;
    for (std::uint64_t at = 0;; ++at) {
      ASSERT_LT(at, 100u);
      const bool died = dies([&] {
        FaultyFileSystem files;
        options_.files = &files;
        auto store = Store::open(options_);
        Fault fault;
        fault.at = at;
        fault.kill = true;
        files.set(fault);
        (*store)->put(fresh, as_bytes("new product"));
      });
      const auto store = open();
      ASSERT_EQ(store->get(old).entry.product.text(), "old product");
      const Lookup found = store->get(fresh);
      if (found) {
        ASSERT_EQ(found.entry.product.text(), "new product");
        ++kept;
      } else {
        ASSERT_EQ(found.reason, Reason::absent) << "a writer's death is no damage";
        ++lost;
      }
      store->erase(fresh.key());
      if (!died) break;
    }
    EXPECT_GT(lost, 2);
    EXPECT_GT(kept, 1);
  }
  // Orphans of an hour ago are swept.
  FakeClock clock(Clock::system().unix_ns() + 2 * 3600 * std::int64_t{1'000'000'000});
  options_.clock = &clock;
  const auto store = open();
  EXPECT_GT(files_named(".new-").size(), 0u);
  while (!store->upkeep(std::chrono::seconds(1), true).is_done) continue;
  EXPECT_EQ(files_named(".new-").size(), 0u);
}

TEST_F(StoreCrash, BetweenAnyTwoCallsOfUpkeepLosesNothingThatMustStay) {
  options_.bytes_max = 200'000;
  options_.step_max = std::chrono::seconds(10);
  for (std::uint64_t at = 0;; at += 17) {
    ASSERT_LT(at, 3000u);
    std::filesystem::remove_all(options_.root);
    {
      const auto store = open();
      for (int i = 0; i < 40; ++i) store->put(recipe_for(i), as_bytes(std::string(4000, 'p')));
    }
    const bool died = dies([&] {
      FaultyFileSystem files;
      options_.files = &files;
      options_.bytes_max = 100'000;
      auto store = Store::open(options_);
      Fault fault;
      fault.at = at;
      fault.kill = true;
      files.set(fault);
      (*store)->upkeep(std::chrono::seconds(10));
    });
    const auto store = open();
    int kept = 0;
    for (int i = 0; i < 40; ++i) {
      const Lookup found = store->get(recipe_for(i));
      ASSERT_TRUE(found || found.reason == Reason::absent) << static_cast<int>(found.reason);
      kept += found ? 1 : 0;
    }
    ASSERT_GE(kept, 20);
    // Later, when nobody takes what is missing for something that is on its way.
    FakeClock clock(Clock::system().unix_ns() + 300 * std::int64_t{1'000'000'000});
    options_.clock = &clock;
    const auto later = open();
    options_.clock = &Clock::system();
    while (!later->upkeep(std::chrono::seconds(10), true).is_done) continue;
    ASSERT_EQ(later->usage().entries, static_cast<std::uint64_t>(kept)) << "died at " << at;
    if (!died) break;
  }
}

// Writers put numbered entries and say in shared memory which were acknowledged; they are killed at random
// times.
class Writers {
 public:
  Writers() {
    void* const memory = ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    acknowledged_ = static_cast<unsigned char*>(memory);
  }
  ~Writers() { ::munmap(acknowledged_, kMost); }
  Writers(const Writers&) = delete;
  Writers& operator=(const Writers&) = delete;

  void kill_one_round(const StoreOptions& options, int writers, int first, std::chrono::microseconds after) {
    std::vector<pid_t> children;
    for (int i = 0; i < writers; ++i) {
      const pid_t child = fork_process();
      if (child == 0) {
        auto store = Store::open(options);
        // Neighbours write the same numbers in part, so that they meet.
        for (int number = first + i * 10; number < static_cast<int>(kMost); ++number) {
          if ((*store)->put(recipe_for(number), as_bytes(product_of(number)))) acknowledged_[number] = 1;
        }
        ::_exit(0);
      }
      children.push_back(child);
    }
    std::this_thread::sleep_for(after);
    for (const pid_t child : children) ::kill(child, SIGKILL);
    for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  }
  // Checks what was acknowledged from `first` on, and returns the first number that nobody wrote.
  int check(Store& store, int first) {
    int end = first;
    for (int number = first; number < first + 3000 && number < static_cast<int>(kMost); ++number) {
      const Lookup found = store.get(recipe_for(number));
      if (found) {
        EXPECT_EQ(found.entry.product.text(), product_of(number));
        end = number + 1;
      } else {
        EXPECT_EQ(found.reason, Reason::absent) << number;
        EXPECT_EQ(acknowledged_[number], 0) << "acknowledged and lost: " << number;
      }
    }
    return end;
  }

 private:
  static constexpr std::size_t kMost = 4 << 20;
  unsigned char* acknowledged_;
};

void kill_at_random(StoreOptions options, int rounds, int writers) {
  Writers all;
  std::mt19937 random(7);
  int first = 0;
  for (int round = 0; round < rounds; ++round) {
    all.kill_one_round(options, writers, first, std::chrono::microseconds(200 + random() % 4000));
    auto store = Store::open(options);
    ASSERT_TRUE(store);
    first = all.check(**store, first);
    if (round % 20 == 19) {
      std::filesystem::remove_all(options.root);
      first += 3000;
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_F(StoreCrash, AtRandomTimesLosesNothingAcknowledged) {
  for (const int writers : {1, 4}) kill_at_random(options_, 12, writers);
}

class StressStoreCrash : public StoreTest {};

TEST_F(StressStoreCrash, AThousandTimesLosesNothingAcknowledged) {
  for (const int writers : {1, 4, 16}) kill_at_random(options_, 334, writers);
}

TEST_F(StoreCrash, OfTheMachineLeavesNoTornEntryThatIsServed) {
  FaultyFileSystem files;
  options_.files = &files;
  files.remember_unsynced();
  {
    const auto store = open();
    for (int i = 0; i < 100; ++i) store->put(recipe_for(i), as_bytes(product_of(i)));
  }
  files.lose_power();
  const auto store = open();
  int torn = 0;
  for (int i = 0; i < 100; ++i) {
    const Lookup found = store->get(recipe_for(i));
    torn += found ? 0 : 1;
    if (found) {
      EXPECT_EQ(found.entry.product.text(), product_of(i));
    }
    EXPECT_TRUE(store->put(recipe_for(i), as_bytes(product_of(i)))) << "what was torn can be put again";
    EXPECT_EQ(store->get(recipe_for(i)).entry.product.text(), product_of(i));
  }
  EXPECT_GT(torn, 90);
}

TEST_F(StoreCrash, OfTheMachineLosesNoDurableEntry) {
  FaultyFileSystem files;
  options_.files = &files;
  options_.durable = true;
  files.remember_unsynced();
  {
    const auto store = open();
    for (int i = 0; i < 100; ++i) store->put(recipe_for(i), as_bytes(product_of(i)));
  }
  files.lose_power();
  const auto store = open();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(store->get(recipe_for(i)).entry.product.text(), product_of(i));
}

TEST_F(StoreCrash, OfNobodyIsAWriterThatStoppedBeforeItPublished) {
  const Recipe recipe = recipe_for("slow");
  const pid_t child = fork_process();
  if (child == 0) {
    // Stops itself where it would rename.
    FaultyFileSystem files;
    options_.files = &files;
    auto store = Store::open(options_);
    Fault fault;
    fault.at = 0;
    fault.only = FileCall::rename;
    fault.stop = true;
    files.set(fault);
    const PutResult result = (*store)->put(recipe, as_bytes("late"));
    ::_exit(result.state == PutState::already_there ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  ASSERT_TRUE(WIFSTOPPED(status));
  const auto store = open();
  EXPECT_EQ(store->get(recipe).reason, Reason::absent);
  EXPECT_EQ(store->put(recipe, as_bytes("in time")).state, PutState::stored);
  EXPECT_EQ(store->get(recipe).entry.product.text(), "in time");
  ::kill(child, SIGCONT);
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "it learns that somebody was first";
  EXPECT_EQ(store->get(recipe).entry.product.text(), "in time");
  EXPECT_TRUE(files_named(".new-").empty());
}

}  // namespace
}  // namespace larder
