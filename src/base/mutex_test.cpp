#include "base/mutex.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace larder {
namespace {

// What was locked while the process had one thread is locked for those that start meanwhile.
TEST(Mutex, HoldsAgainstAThreadThatStartsWhileItIsHeld) {
  Mutex mutex;
  int guarded = 0;
  if (!mutex.lock_if_free()) FAIL() << "nobody holds it";
  std::atomic<bool> has_tried{false};
  std::thread other([&] {
    if (mutex.lock_if_free()) {
      ADD_FAILURE() << "it is held";
      mutex.unlock();
    }
    has_tried = true;
    mutex.lock();
    EXPECT_EQ(guarded, 1);
    guarded = 2;
    mutex.unlock();
  });
  while (!has_tried) std::this_thread::yield();
  guarded = 1;
  mutex.unlock();
  other.join();
  const MutexLock lock(mutex);
  EXPECT_EQ(guarded, 2);
}

TEST(Mutex, IsCountedRightByThreadsThatComeAndGo) {
  Mutex mutex;
  int count = 0;
  for (int round = 0; round < 50; ++round) {
    const auto add = [&] {
      for (int i = 0; i < 200; ++i) {
        const MutexLock lock(mutex);
        ++count;
      }
    };
    add();
    std::thread one(add);
    std::thread two(add);
    add();
    one.join();
    two.join();
  }
  EXPECT_EQ(count, 50 * 4 * 200);
}

}  // namespace
}  // namespace larder
