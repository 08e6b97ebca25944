// Who waits in another process for a write that waits here.
#include "cache/write_behind.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <latch>
#include <vector>

#include "cache/testing.hpp"
#include "store/store.hpp"

namespace larder {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::recipe_of;

PendingWrite write_of(std::string_view name, std::shared_ptr<const MakeTurn> turn = nullptr) {
  const Recipe recipe = recipe_of(name);
  return {recipe, recipe.key(), Bytes(std::string("product")), {}, {}, Nanoseconds{0}, std::move(turn)};
}

class WriteBehindTurns : public ::testing::Test {
 protected:
  WriteBehindTurns() {
    StoreOptions options;
    options.root = scratch_.path() + "/store";
    options.lock_directory = scratch_.path() + "/run";
    auto store = Store::open(std::move(options));
    if (store) store_ = std::move(*store);
  }
  std::shared_ptr<const MakeTurn> turn_for(std::string_view name, milliseconds expected) {
    return std::make_shared<const MakeTurn>(store_->wait_for_turn(recipe_of(name).key(), expected));
  }

  testing::ScratchDirectory scratch_;
  std::unique_ptr<Store> store_;
};

TEST_F(WriteBehindTurns, LetWhatIsAwaitedGoFirst) {
  std::vector<std::string> order;
  std::latch has_begun{1};
  std::latch may_go_on{1};
  WriteBehindOptions options;
  options.write = [&](const PendingWrite& write) {
    order.push_back(write.key == recipe_of("first").key()     ? "first"
                    : write.key == recipe_of("awaited").key() ? "awaited"
                                                              : "other");
    has_begun.count_down(order.size() == 1 ? 1 : 0);
    may_go_on.wait();
  };
  WriteBehind writes(options);
  ASSERT_TRUE(writes.add(write_of("first", turn_for("first", seconds(1)))));
  has_begun.wait();
  for (const char* name : {"other 1", "other 2"}) ASSERT_TRUE(writes.add(write_of(name)));
  ASSERT_TRUE(writes.add(write_of("awaited", turn_for("awaited", seconds(1)))));
  may_go_on.count_down();
  ASSERT_TRUE(writes.flush(seconds(20)));
  EXPECT_EQ(order, (std::vector<std::string>{"first", "awaited", "other", "other"}));
}

TEST_F(WriteBehindTurns, LetGoAsSoonAsItIsWritten) {
  WriteBehindOptions options;
  options.delay = seconds(60);  // somebody waits: no delay
  options.write = [&](const PendingWrite& write) { store_->put(write.recipe, write.bytes.view()); };
  WriteBehind writes(options);
  ASSERT_TRUE(writes.add(write_of("a", turn_for("a", seconds(1)))));
  EXPECT_EQ(turn_for("a", seconds(20))->turn, Turn::published);
}

TEST_F(WriteBehindTurns, GoWhenTheProcessIsKilledBeforeItWrote) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t writer = ::fork();
  ASSERT_GE(writer, 0);
  if (writer == 0) {
    WriteBehindOptions options;
    options.write = [&](const PendingWrite&) {
      (void)!::write(ready[1], "w", 1);
      for (;;) ::pause();
    };
    WriteBehind writes(options);
    writes.add(write_of("a", turn_for("a", seconds(1))));
    for (;;) ::pause();
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  EXPECT_EQ(turn_for("a", milliseconds(1))->turn, Turn::timed_out) << "a waiter's wait is bounded";
  ::kill(writer, SIGKILL);
  ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
  EXPECT_EQ(turn_for("a", seconds(20))->turn, Turn::mine);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace larder
