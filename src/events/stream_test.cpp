#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "larder/events.hpp"

namespace larder {
namespace {

const Event kMade{.kind = EventKind::request, .outcome = Outcome::made, .recipe_kind = "test"};

TEST(EventStream, DeliversToEveryListenerOnce) {
  int one = 0;
  int two = 0;
  auto first = subscribe([&](const Event&) { ++one; });
  auto second = subscribe([&](const Event&) { ++two; });
  ASSERT_TRUE(first && second);
  emit(kMade);
  EXPECT_EQ(one, 1);
  EXPECT_EQ(two, 1);
}

TEST(EventStream, IsListenedOnlyWhileSomebodyListens) {
  EXPECT_FALSE(is_listened());
  {
    auto subscription = subscribe([](const Event&) {});
    EXPECT_TRUE(is_listened());
  }
  EXPECT_FALSE(is_listened());
}

TEST(EventStream, StampsTheTimeOnlyWhereNoneIsGiven) {
  std::vector<std::int64_t> times;
  auto subscription = subscribe([&](const Event& event) { times.push_back(event.unix_ns); });
  emit(kMade);
  Event dated = kMade;
  dated.unix_ns = 42;
  emit(dated);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_GT(times[0], 1'600'000'000'000'000'000);
  EXPECT_EQ(times[1], 42);
}

TEST(EventStream, RefusesAnEmptyListenerAndOneTooMany) {
  auto none = subscribe(nullptr);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::invalid_argument);
  std::vector<Subscription> all;
  for (std::size_t i = 0; i < kListenersMax; ++i) {
    auto subscription = subscribe([](const Event&) {});
    ASSERT_TRUE(subscription);
    all.push_back(std::move(*subscription));
  }
  auto one_more = subscribe([](const Event&) {});
  ASSERT_FALSE(one_more);
  EXPECT_EQ(one_more.error().code, Code::out_of_resources);
  all.pop_back();
  EXPECT_TRUE(subscribe([](const Event&) {}));
}

TEST(EventStream, GoesOnAfterAListenerThrows) {
  int heard = 0;
  auto thrower = subscribe([](const Event&) { throw std::runtime_error("no"); });
  auto other = subscribe([&](const Event&) { ++heard; });
  const std::uint64_t failed = failed_deliveries();
  emit(kMade);
  emit(kMade);
  EXPECT_EQ(heard, 2);
  EXPECT_EQ(failed_deliveries() - failed, 2u);
}

TEST(EventStream, DoesNotReturnAListenersOwnEventsToIt) {
  int first_heard = 0;
  int second_heard = 0;
  auto first = subscribe([&](const Event&) {
    ++first_heard;
    emit(kMade);
  });
  auto second = subscribe([&](const Event&) {
    ++second_heard;
    emit(kMade);
  });
  emit(kMade);
  EXPECT_EQ(first_heard, 2);   // the event and what the second made of it
  EXPECT_EQ(second_heard, 2);  // the event and what the first made of it
}

TEST(EventStream, LetsAListenerEndItself) {
  auto alive = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = alive;
  Subscription subscription;
  int heard = 0;
  auto result = subscribe([&heard, &subscription, alive](const Event&) {
    ++heard;
    subscription.reset();
    EXPECT_EQ(*alive, 0);  // the captures are still there
  });
  ASSERT_TRUE(result);
  subscription = std::move(*result);
  alive.reset();
  emit(kMade);
  emit(kMade);
  EXPECT_EQ(heard, 1);
  EXPECT_TRUE(watch.expired());
}

TEST(EventStream, LetsListenersEndEachOther) {
  Subscription one;
  Subscription two;
  int heard = 0;
  one = std::move(*subscribe([&](const Event&) {
    ++heard;
    two.reset();
  }));
  two = std::move(*subscribe([&](const Event&) {
    ++heard;
    one.reset();
  }));
  emit(kMade);
  EXPECT_EQ(heard, 1);
}

TEST(EventStream, WaitsForARunningListenerBeforeItEnds) {
  std::latch entered(1);
  std::latch may_leave(1);
  std::atomic<bool> has_left{false};
  auto subscription = subscribe([&](const Event&) {
    entered.count_down();
    may_leave.wait();
    has_left = true;
  });
  ASSERT_TRUE(subscription);
  std::jthread emitter([] { emit(kMade); });
  entered.wait();
  std::jthread releaser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    may_leave.count_down();
  });
  subscription->reset();
  EXPECT_TRUE(has_left);
}

TEST(EventStream, StandsListenersComingAndGoingUnderEightEmitters) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> heard{0};
  std::vector<std::jthread> emitters;
  for (int i = 0; i < 8; ++i) {
    emitters.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) emit(kMade);
    });
  }
  std::vector<std::jthread> listeners;
  for (int i = 0; i < 2; ++i) {
    listeners.emplace_back([&] {
      for (int n = 0; n < 300; ++n) {
        auto mine =
            std::make_unique<std::atomic<std::uint64_t>>(0);  // freed right after: a late call would show
        auto subscription = subscribe([&heard, counter = mine.get()](const Event&) {
          counter->fetch_add(1, std::memory_order_relaxed);
          heard.fetch_add(1, std::memory_order_relaxed);
        });
        ASSERT_TRUE(subscription);
        if (n % 16 == 0) std::this_thread::yield();
      }
    });
  }
  listeners.clear();
  stop = true;
  emitters.clear();
  EXPECT_FALSE(is_listened());
}

TEST(EventStream, StandsListenersThatEndThemselvesUnderEightEmitters) {
  std::atomic<bool> stop{false};
  std::vector<std::jthread> emitters;
  for (int i = 0; i < 8; ++i) {
    emitters.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) emit(kMade);
    });
  }
  for (int n = 0; n < 40; ++n) {
    struct State {
      std::atomic<bool> is_done{false};
      std::atomic<bool> is_ready{false};
      Subscription subscription;
    };
    auto state = std::make_shared<State>();
    auto result = subscribe([state](const Event&) {
      if (!state->is_ready.load(std::memory_order_acquire) || state->is_done.exchange(true)) return;
      state->subscription.reset();
    });
    ASSERT_TRUE(result);
    state->subscription = std::move(*result);
    state->is_ready.store(true, std::memory_order_release);
    while (!state->is_done) std::this_thread::yield();
  }
  stop = true;
}

TEST(EventStream, KeepsACancelledThreadUntilItsListenerIsDone) {
  std::atomic<bool> is_done{false};
  auto subscription = subscribe([&](const Event&) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
    is_done = true;
  });
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void*) -> void* {
                  emit(kMade);
                  pthread_testcancel();
                  return nullptr;
                },
                nullptr),
            0);
  void* end = nullptr;
  ASSERT_EQ(pthread_join(thread, &end), 0);
  EXPECT_TRUE(is_done);
  EXPECT_EQ(end, PTHREAD_CANCELED);
}

TEST(EventStream, LetsAForkedChildEndWhatAVanishedThreadWasInside) {
  std::latch entered(1);
  std::latch may_leave(1);
  auto subscription = subscribe([&](const Event&) {
    entered.count_down();
    may_leave.wait();
  });
  ASSERT_TRUE(subscription);
  std::jthread emitter([] { emit(kMade); });
  entered.wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(5);
    subscription->reset();  // would wait for ever for a thread that is not there
    _exit(is_listened() ? 1 : 0);
  }
  may_leave.count_down();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace larder
