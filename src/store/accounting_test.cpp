// What the store takes never exceeds its cap because of news that were lost: a put and a step of upkeep are
// stopped before each of their system calls, others work meanwhile, and the sums know of every entry.
#include <sys/wait.h>

#include <csignal>

#include "base/faulty_file_system.hpp"
#include "store/store_test_kit.hpp"
#include "store/sums.hpp"

namespace larder {
namespace {

using std::chrono::seconds;

class StoreAccounting : public StoreTest {
 protected:
  StoreAccounting() { options_.step_max = seconds(10); }

  std::uint64_t bytes_on_disk() const {
    std::uint64_t all = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(options_.root)) {
      if (entry.is_regular_file() && entry.path().filename().string().size() == 30) all += entry.file_size();
    }
    return all;
  }
  void put(Store& store, int number, std::size_t bytes = 4000) {
    store.put(recipe_for(number), as_bytes(std::string(bytes, 'p')),
              {.cost = std::chrono::milliseconds(number), .log = {}, .attachment = {}});
  }
  // Runs `stopped` in a child that stops before its `at`-th call, `meanwhile` here, and lets the child go on.
  // False when it made fewer calls than that.
  bool stop_at(std::uint64_t at, const StoreOptions& options, const std::function<void(Store&)>& stopped,
               const std::function<void()>& meanwhile) {
    const pid_t child = fork_process();
    if (child == 0) {
      FaultyFileSystem files;
      StoreOptions with = options;
      with.files = &files;
      auto store = Store::open(with);
      if (!store) ::_exit(1);
      Fault fault;
      fault.at = at;
      fault.stop = true;
      files.set(fault);
      stopped(**store);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, WUNTRACED);
    const bool was_stopped = WIFSTOPPED(status);
    if (was_stopped) {
      meanwhile();
      ::kill(child, SIGCONT);
      ::waitpid(child, &status, 0);
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return was_stopped;
  }
  std::uint64_t sum() {
    const auto directory = Directory::open(*options_.files, options_.root, true);
    if (!directory) return 0;
    Index index(**directory);
    return read_sums(index).bytes;
  }
  // Before the news are folded and after.
  void expect_sums_to_know_all(std::uint64_t at) {
    ASSERT_GE(sum(), bytes_on_disk()) << "at " << at;
    const auto store = open();
    while (!store->upkeep(seconds(1)).is_done) continue;
    ASSERT_GE(sum(), bytes_on_disk()) << "folded, at " << at;
    ASSERT_GE(store->usage().bytes, bytes_on_disk()) << "folded, at " << at;
  }
};

TEST_F(StoreAccounting, KnowsAPutThatCameBetweenAnyTwoCallsOfUpkeep) {
  StoreOptions fewer = options_;
  fewer.bytes_max = 30'000;
  std::uint64_t at = 0;
  for (bool goes_on = true; goes_on; ++at) {
    ASSERT_LT(at, 2000u);
    std::filesystem::remove_all(options_.root);
    const auto store = open();
    for (int i = 0; i < 10; ++i) put(*store, i);
    goes_on = stop_at(
        at, fewer, [](Store& other) { other.upkeep(seconds(10)); },
        [&] {
          for (int i = 100; i < 103; ++i) put(*store, i);
        });
    expect_sums_to_know_all(at);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(at, 40u);
}

TEST_F(StoreAccounting, KnowsAPutThatWasStoppedBeforeAnyOfItsCallsWhileOthersDidUpkeep) {
  StoreOptions none = options_;
  none.bytes_max = 1;
  for (const bool evict : {false, true}) {
    std::uint64_t at = 0;
    for (bool goes_on = true; goes_on; ++at) {
      ASSERT_LT(at, 200u);
      std::filesystem::remove_all(options_.root);
      const auto store = open();
      for (int i = 0; i < 5; ++i) put(*store, i);
      goes_on = stop_at(
          at, options_, [&](Store& other) { put(other, 100); },
          [&] {
            const auto keeper = evict ? std::move(*Store::open(none)) : open();
            for (int i = 0; i < 2; ++i) keeper->upkeep(seconds(10), true);
          });
      expect_sums_to_know_all(at);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(at, 5u);
  }
}

TEST_F(StoreAccounting, KnowsAnEntryThatTwoAnnouncedAndOneTookBack) {
  std::uint64_t at = 0;
  for (bool goes_on = true; goes_on; ++at) {
    ASSERT_LT(at, 200u);
    std::filesystem::remove_all(options_.root);
    const auto store = open();
    put(*store, 1);
    goes_on = stop_at(
        at, options_, [&](Store& other) { put(other, 100); },
        [&] {
          put(*store, 100);
          store->upkeep(seconds(10));
        });
    expect_sums_to_know_all(at);
    if (HasFatalFailure()) return;
  }
}

TEST_F(StoreAccounting, KeepsTheCapWhenTwoPublishWhatFitsOnlyOnce) {
  options_.bytes_max = 100'000;
  std::uint64_t at = 0;
  for (bool goes_on = true; goes_on; ++at) {
    ASSERT_LT(at, 200u);
    std::filesystem::remove_all(options_.root);
    const auto store = open();
    put(*store, 1, 30'000);
    goes_on = stop_at(
        at, options_, [&](Store& other) { put(other, 100, 60'000); },
        [&] {
          put(*store, 200, 60'000);
          EXPECT_LE(bytes_on_disk(), 101'000u) << at;
        });
    ASSERT_LE(bytes_on_disk(), 101'000u) << at;
    expect_sums_to_know_all(at);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace larder
