#include "policy/ghosts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "policy/sample.hpp"

namespace larder::policy {
namespace {

TEST(Ghosts, ForgetTheOldestFirst) {
  Ghosts ghosts(2);
  for (std::uint64_t key : {1U, 2U, 3U}) ghosts.remember({.key = key, .when = key, .uses = 1, .cost = 5});
  EXPECT_EQ(ghosts.find(1), nullptr);
  ASSERT_NE(ghosts.find(2), nullptr);
  EXPECT_EQ(ghosts.find(2)->when, 2U);
  EXPECT_EQ(ghosts.size(), 2U);
}

TEST(Ghosts, ReplaceWhatWasKnownOfAKey) {
  Ghosts ghosts(4);
  ghosts.remember({.key = 1, .when = 1, .uses = 1, .cost = 0});
  ghosts.remember({.key = 1, .when = 9, .uses = 7, .cost = 0});
  EXPECT_EQ(ghosts.size(), 1U);
  EXPECT_EQ(ghosts.take(1)->uses, 7U);
  EXPECT_FALSE(ghosts.take(1).has_value());
}

TEST(Ghosts, RememberNothingWhereNothingFits) {
  Ghosts ghosts(0);
  ghosts.remember({.key = 1, .when = 1, .uses = 1, .cost = 0});
  EXPECT_EQ(ghosts.find(1), nullptr);
  EXPECT_EQ(ghosts.size(), 0U);
}

TEST(Ghosts, KeepTheYoungestWhenTheyShrink) {
  Ghosts ghosts(10);
  for (std::uint64_t key = 0; key < 15; ++key)
    ghosts.remember({.key = key, .when = key, .uses = 1, .cost = 0});
  ghosts.resize(3);
  std::vector<std::uint64_t> keys;
  ghosts.for_each([&](const Ghost& ghost) { keys.push_back(ghost.key); });
  EXPECT_EQ(keys, (std::vector<std::uint64_t>{12, 13, 14}));
}

// Against a queue that is searched from end to end.
TEST(Ghosts, BehaveAsAQueueOfKeys) {
  for (const std::size_t count_max : {1U, 2U, 7U, 64U}) {
    Ghosts ghosts(count_max);
    std::deque<Ghost> naive;  // oldest first; a place that was taken stays a place until its turn comes
    Random random(count_max);
    for (int step = 0; step < 20000; ++step) {
      const std::uint64_t key = random.next(2 * count_max + 1);
      const auto same = std::find_if(naive.begin(), naive.end(),
                                     [&](const Ghost& one) { return one.uses != 0 && one.key == key; });
      if (random.next(std::size_t{3}) == 0) {
        const auto taken = ghosts.take(key);
        ASSERT_EQ(taken.has_value(), same != naive.end());
        if (!taken) continue;
        EXPECT_EQ(taken->when, same->when);
        same->uses = 0;
      } else {
        if (same != naive.end()) same->uses = 0;
        const Ghost ghost{.key = key, .when = static_cast<Tick>(step), .uses = 1, .cost = 0};
        ghosts.remember(ghost);
        naive.push_back(ghost);
        if (naive.size() > count_max) naive.pop_front();
      }
      const auto live =
          std::count_if(naive.begin(), naive.end(), [](const Ghost& one) { return one.uses != 0; });
      ASSERT_EQ(ghosts.size(), static_cast<std::size_t>(live));
    }
  }
}

}  // namespace
}  // namespace larder::policy
