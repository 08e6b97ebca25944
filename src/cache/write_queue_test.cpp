#include "cache/write_behind.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <latch>
#include <vector>

#include "cache/testing.hpp"

namespace larder {
namespace {

using testing::kLong;
using testing::recipe_of;

constexpr auto kNever = std::chrono::hours(1);

PendingWrite sized_write_of(std::string_view name, std::size_t size = 100) {
  const Recipe recipe = recipe_of(name);
  return {recipe, recipe.key(), Bytes(std::string(size, 'x')), {}, {}, {}, {}};
}

// Takes down what is written; the first write may be held up.
class Written {
 public:
  WriteBehindOptions options(std::chrono::nanoseconds delay, std::uint64_t bytes_max = 1 << 20) {
    return {.bytes_max = bytes_max,
            .delay = delay,
            .write = [this](const PendingWrite& each) { write(each); },
            .idle = [this] { ++idle_; }};
  }
  void hold() { holds_ = true; }
  void wait_until_held() { is_held_.wait(); }
  void let_go() { let_go_.count_down(); }
  std::vector<std::string> names() const {
    MutexLock lock(mutex_);
    return names_;
  }
  int idle() const { return idle_; }

 private:
  void write(const PendingWrite& each) {
    if (holds_.exchange(false)) {
      is_held_.count_down();
      let_go_.wait();
    }
    MutexLock lock(mutex_);
    names_.emplace_back(as_text(each.recipe.ingredients()[0].bytes));
  }

  mutable Mutex mutex_;
  std::vector<std::string> names_ GUARDED_BY(mutex_);
  std::atomic<bool> holds_{false};
  std::atomic<int> idle_{0};
  std::latch is_held_{1};
  std::latch let_go_{1};
};

TEST(WriteBehind, WritesInTheOrderOfAddingAndThenSaysThatItIsIdle) {
  Written written;
  WriteBehind writes(written.options(std::chrono::nanoseconds(0)));
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(writes.add(sized_write_of(name)));
  ASSERT_TRUE(writes.flush(kLong));
  EXPECT_EQ(written.names(), (std::vector<std::string>{"a", "b", "c"}));
  writes.close(kLong);
  EXPECT_GE(written.idle(), 1);
  EXPECT_EQ(writes.pending_bytes(), 0u);
}

TEST(WriteBehind, RefusesWhatDoesNotFitItsBound) {
  Written written;
  WriteBehind writes(written.options(kNever, 1000));
  EXPECT_FALSE(writes.add(sized_write_of("too large", 1001)));
  EXPECT_TRUE(writes.add(sized_write_of("a", 600)));
  EXPECT_FALSE(writes.add(sized_write_of("b", 600)));
  EXPECT_LE(writes.pending_bytes(), 1000u);
  ASSERT_TRUE(writes.flush(kLong));
  EXPECT_TRUE(writes.add(sized_write_of("b", 600))) << "room is made by writing";
}

TEST(WriteBehind, KeepsTheFirstOfTwoUnderOneRecipe) {
  Written written;
  WriteBehind writes(written.options(kNever));
  ASSERT_TRUE(writes.add(sized_write_of("a", 10)));
  ASSERT_TRUE(writes.add(sized_write_of("a", 20)));
  EXPECT_EQ(writes.pending_entries(), 1u);
  EXPECT_EQ(writes.find(recipe_of("a"), recipe_of("a").key())->bytes.size(), 10u);
  EXPECT_FALSE(writes.find(recipe_of("b"), recipe_of("b").key()));
}

TEST(WriteBehind, ComparesRecipesAndNotKeysAlone) {
  Written written;
  WriteBehind writes(written.options(kNever));
  PendingWrite collides = sized_write_of("a");
  collides.key = recipe_of("b").key();
  ASSERT_TRUE(writes.add(collides));
  EXPECT_FALSE(writes.find(recipe_of("b"), recipe_of("b").key()));
}

TEST(WriteBehind, GivesOutWhatIsBeingWrittenToo) {
  Written written;
  written.hold();
  WriteBehind writes(written.options(std::chrono::nanoseconds(0)));
  ASSERT_TRUE(writes.add(sized_write_of("a")));
  written.wait_until_held();
  EXPECT_TRUE(writes.find(recipe_of("a"), recipe_of("a").key()));
  EXPECT_EQ(writes.pending_entries(), 1u);
  written.let_go();
  ASSERT_TRUE(writes.flush(kLong));
  EXPECT_FALSE(writes.find(recipe_of("a"), recipe_of("a").key()));
}

TEST(WriteBehind, DropsWhatWaitsAndWaitsForTheWriteUnderWay) {
  Written written;
  written.hold();
  WriteBehind writes(written.options(std::chrono::nanoseconds(0)));
  ASSERT_TRUE(writes.add(sized_write_of("under way")));
  written.wait_until_held();
  ASSERT_TRUE(writes.add(sized_write_of("waits")));
  std::atomic<bool> has_dropped{false};
  std::thread dropper([&] {
    EXPECT_EQ(writes.drop([](const PendingWrite&) { return true; }), 1u);
    has_dropped = true;
    // I1: what was under way is over, and nothing follows.
    EXPECT_EQ(written.names(), (std::vector<std::string>{"under way"}));
  });
  while (writes.pending_entries() != 1) std::this_thread::yield();
  EXPECT_FALSE(has_dropped) << "the write under way is waited for";
  written.let_go();
  dropper.join();
  ASSERT_TRUE(writes.flush(kLong));
  EXPECT_EQ(written.names(), (std::vector<std::string>{"under way"}));
}

TEST(WriteBehind, CannotBeFlushedBeyondItsDeadline) {
  Written written;
  written.hold();
  WriteBehind writes(written.options(std::chrono::nanoseconds(0)));
  ASSERT_TRUE(writes.add(sized_write_of("a")));
  written.wait_until_held();
  EXPECT_FALSE(writes.flush(std::chrono::milliseconds(1)));
  written.let_go();
  EXPECT_TRUE(writes.flush(kLong));
}

TEST(WriteBehind, ClosesAfterTheWriteUnderWayAndLosesTheRest) {
  Written written;
  written.hold();
  WriteBehind writes(written.options(std::chrono::nanoseconds(0)));
  ASSERT_TRUE(writes.add(sized_write_of("under way")));
  written.wait_until_held();
  ASSERT_TRUE(writes.add(sized_write_of("lost")));
  std::thread closer([&] { writes.close(std::chrono::nanoseconds(0)); });
  written.let_go();
  closer.join();
  EXPECT_EQ(writes.pending_bytes(), 0u);
  EXPECT_FALSE(writes.add(sized_write_of("late"))) << "closed";
  const auto names = written.names();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names[0], "under way");
}

TEST(WriteBehind, WritesWithoutDelayWhatOtherProcessesWaitFor) {
  Written written;
  WriteBehind writes(written.options(kNever));
  PendingWrite awaited = sized_write_of("a");
  const auto turn = std::make_shared<const MakeTurn>();
  awaited.turn = turn;
  ASSERT_TRUE(writes.add(std::move(awaited)));
  // Written and let go of, an hour before its time; only the copy here is left.
  while (turn.use_count() != 1) std::this_thread::yield();
  EXPECT_EQ(written.names(), (std::vector<std::string>{"a"}));
}

TEST(WriteBehind, StartsWithNothingInAForkedChild) {
  Written written;
  WriteBehind writes(written.options(kNever));
  ASSERT_TRUE(writes.add(sized_write_of("of the parent")));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0)
    ::_exit(writes.pending_entries() == 0 && writes.flush(kLong) && written.names().empty() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ASSERT_TRUE(writes.flush(kLong));
  EXPECT_EQ(written.names(), (std::vector<std::string>{"of the parent"}));
}

}  // namespace
}  // namespace larder
