// Reminders: that idle work is done although nothing is written.
#include "cache/write_behind.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace larder {
namespace {

// Counts how often it was idle, and lets a test wait for that.
class Idle {
 public:
  void happened() {
    times_.fetch_add(1);
    times_.notify_all();
  }
  void wait_for(int times) const {
    for (int now = times_.load(); now < times; now = times_.load()) times_.wait(now);
  }
  int times() const { return times_.load(); }

 private:
  std::atomic<int> times_{0};
};

WriteBehindOptions options_for(Idle& idle, std::chrono::nanoseconds first) {
  WriteBehindOptions options;
  options.write = [](const PendingWrite&) {};
  options.idle = [&idle] { idle.happened(); };
  options.remind_first = first;
  options.remind_max = first;
  return options;
}

TEST(Reminder, BringsIdlenessSoonAlthoughNothingIsWritten) {
  Idle idle;
  WriteBehind writes(options_for(idle, std::chrono::milliseconds(1)));
  writes.remind();
  idle.wait_for(1);
  EXPECT_EQ(idle.times(), 1) << "once for each";
  writes.remind();
  idle.wait_for(2);
  EXPECT_EQ(idle.times(), 2);
}

TEST(Reminder, IsOneHoweverOftenItIsAskedFor) {
  Idle idle;
  WriteBehind writes(options_for(idle, std::chrono::milliseconds(50)));
  for (int i = 0; i < 1000; ++i) writes.remind();
  idle.wait_for(1);
  EXPECT_EQ(idle.times(), 1);
}

TEST(Reminder, IsNotWaitedForByClose) {
  Idle idle;
  WriteBehind writes(options_for(idle, std::chrono::hours(1)));
  writes.remind();
  writes.close(std::chrono::seconds(5));
  writes.remind();
  EXPECT_EQ(idle.times(), 0);
}

TEST(Reminder, OfAParentIsNotTheChilds) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer ends a forked child that starts a thread";
#endif
  Idle idle;
  WriteBehind writes(options_for(idle, std::chrono::hours(1)));
  writes.remind();  // the parent's thread and its reminder are the parent's
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    WriteBehind own(options_for(idle, std::chrono::milliseconds(1)));
    own.remind();
    idle.wait_for(1);
    writes.remind();
    writes.close(std::chrono::nanoseconds(0));
    ::_exit(0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace larder
