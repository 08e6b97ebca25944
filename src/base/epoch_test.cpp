#include "base/epoch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace larder {
namespace {

struct Garbage : Retired {
  bool dropped = false;
};

void drop(Retired* retired) noexcept {
  static_cast<Garbage*>(retired)->dropped = true;
}

void collect(Bin& bin) {
  bin.close();
  drop_all(bin.take_ripe(oldest_reader()));
}

TEST(Epoch, FreesAtOnceWhatNobodyCanRead) {
  Bin bin;
  Garbage garbage;
  bin.retire(garbage, 10, drop);
  EXPECT_EQ(bin.pending(), 1u);
  EXPECT_EQ(bin.pending_bytes(), 10u);
  collect(bin);
  EXPECT_TRUE(garbage.dropped);
  EXPECT_EQ(bin.pending(), 0u);
  EXPECT_EQ(bin.pending_bytes(), 0u);
}

TEST(Epoch, WaitsForReadersThatPinnedBefore) {
  Bin bin;
  Garbage garbage;
  {
    detail::Pin pin;
    bin.retire(garbage, 1, drop);
    collect(bin);
    EXPECT_FALSE(garbage.dropped);
  }
  collect(bin);
  EXPECT_TRUE(garbage.dropped);
}

// As another thread may close between one's look at the readers and what one frees by it: somebody may have
// pinned and seen the late one in between.
TEST(Epoch, FreesNothingThatWasClosedAfterTheLookAtTheReaders) {
  Bin bin;
  Garbage early;
  Garbage late;
  bin.retire(early, 1, drop);
  bin.close();
  const std::uint64_t oldest = oldest_reader();
  bin.retire(late, 1, drop);
  bin.close();
  drop_all(bin.take_ripe(oldest));
  EXPECT_TRUE(early.dropped);
  EXPECT_FALSE(late.dropped);
  collect(bin);
  EXPECT_TRUE(late.dropped);
}

TEST(Epoch, WaitsForNoReaderThatPinnedAfter) {
  Bin bin;
  Garbage garbage;
  bin.retire(garbage, 1, drop);
  bin.close();
  detail::Pin pin;
  collect(bin);
  EXPECT_TRUE(garbage.dropped);
}

TEST(Epoch, StaysPinnedUntilTheOutermostPinEnds) {
  Bin bin;
  Garbage garbage;
  {
    detail::Pin outer;
    bin.retire(garbage, 1, drop);
    { detail::Pin inner; }
    collect(bin);
    EXPECT_FALSE(garbage.dropped);
  }
  collect(bin);
  EXPECT_TRUE(garbage.dropped);
}

TEST(Epoch, StaysPinnedUntilTheLastPinEndsInWhateverOrder) {
  Bin bin;
  Garbage garbage;
  auto first = std::make_unique<detail::Pin>();
  auto second = std::make_unique<detail::Pin>();
  auto third = std::make_unique<detail::Pin>();
  bin.retire(garbage, 1, drop);
  first.reset();
  collect(bin);
  EXPECT_FALSE(garbage.dropped);
  third.reset();
  collect(bin);
  EXPECT_FALSE(garbage.dropped);
  second.reset();
  collect(bin);
  EXPECT_TRUE(garbage.dropped);
}

TEST(Epoch, FreesInOrderUpToTheFirstThatMustWait) {
  Bin bin;
  Garbage early;
  Garbage late;
  bin.retire(early, 1, drop);
  bin.close();
  detail::Pin pin;
  bin.retire(late, 1, drop);
  collect(bin);
  EXPECT_TRUE(early.dropped);
  EXPECT_FALSE(late.dropped);
  EXPECT_EQ(bin.pending(), 1u);
}

TEST(Epoch, ForgetsAThreadThatEnded) {
  Bin bin;
  Garbage garbage;
  std::thread thread([] {
    alignas(detail::Pin) static unsigned char never_ended[sizeof(detail::Pin)];
    ::new (static_cast<void*>(never_ended)) detail::Pin;
  });
  thread.join();
  bin.retire(garbage, 1, drop);
  collect(bin);
  EXPECT_TRUE(garbage.dropped);
}

TEST(Epoch, GivesTheRecordsOfEndedThreadsToOthers) {
  const auto record_of_a_thread = [] {
    detail::EpochRecord* record = nullptr;
    std::thread([&] {
      const detail::Pin pin;
      record = detail::t_epoch_record;
    }).join();
    return record;
  };
  EXPECT_EQ(record_of_a_thread(), record_of_a_thread());
}

TEST(Epoch, ServesMoreThreadsThanItHasStaticRecordsFor) {
  constexpr int kThreads = 200;
  std::latch all{kThreads};
  std::atomic<int> pinned{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      detail::Pin pin;
      ++pinned;
      all.arrive_and_wait();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(pinned, kThreads);
}

}  // namespace
}  // namespace larder
