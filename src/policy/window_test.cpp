#include "policy/window.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "policy/sample.hpp"

namespace larder::policy {
namespace {

std::vector<Id> candidates(Window& window, Tick now) {
  const auto named = window.candidates(now);
  return {named.begin(), named.end()};
}

TEST(Window, NamesWhoShouldLeaveMostFirstAsLookingAtEachWould) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    Window window;
    const std::size_t count = 1 + random.next(std::size_t{64});
    const Tick now = 1000 + random.next();
    std::vector<double> scores(count);
    for (Id id = 0; id < count; ++id) {
      window.reserve(id);
      if (random.next(std::size_t{8}) == 0) {
        scores[id] = -1;
        continue;
      }
      const Tick last = now - random.next(std::size_t{100'000});
      const float density = static_cast<float>(1 + random.next(std::size_t{1000})) / 16;
      scores[id] = static_cast<double>(density) * (static_cast<double>((now - last) / 2) + 0.5);
      window.set(id, last, density);
    }
    const std::vector<Id> named = candidates(window, now);
    const auto highest = *std::max_element(scores.begin(), scores.end());
    ASSERT_EQ(named.empty(), highest < 0);
    for (std::size_t i = 0; i < named.size(); ++i) {
      EXPECT_GE(scores[named[i]], 0) << "hidden";
      if (i != 0) {
        EXPECT_LE(scores[named[i]], scores[named[i - 1]] * 1.00001);
      }
    }
    if (!named.empty()) {
      EXPECT_GE(scores[named.front()] * 1.00001, highest);
    }
    EXPECT_EQ(std::set(named.begin(), named.end()).size(), named.size());
  }
}

TEST(Window, NamesNobodyAgainWhoWasUsedOrLeftSince) {
  Window window;
  window.reserve(9);
  for (Id id = 0; id < 10; ++id) window.set(id, 100 - id, 1);
  const std::vector<Id> first = candidates(window, 200);
  ASSERT_EQ(first, (std::vector<Id>{9, 8, 7, 6}));
  window.set(8, 200, 1);
  EXPECT_EQ(candidates(window, 200), (std::vector<Id>{9, 7, 6}));
  window.hide(9);
  EXPECT_EQ(candidates(window, 200), (std::vector<Id>{7, 6}));
  window.hide(6);
  window.hide(7);
  const std::vector<Id> next = candidates(window, 200);
  EXPECT_EQ(next.front(), 5U) << "when none is left there is another look";
  for (Id id = 0; id < 10; ++id) window.hide(id);
  EXPECT_TRUE(candidates(window, 200).empty());
}

TEST(Window, GivesAllTheirTurn) {
  constexpr Id kCount = 1000;
  Window window;
  std::set<Id> seen;
  for (Id id = 0; id < kCount; ++id) {
    window.reserve(id);
    window.set(id, id, 1);
  }
  for (Id moves = 0; moves < 2 * kCount / 4; ++moves) {
    for (const Id id : candidates(window, 2 * kCount)) {
      seen.insert(id);
      window.set(id, 2 * kCount, 1);  // used, so that another is next
    }
    window.move_on();
  }
  EXPECT_EQ(seen.size(), kCount);
}

TEST(Window, CountsTicksBeyondTheirLowerHalf) {
  Window window;
  window.reserve(1);
  window.set(0, 0xffffff00, 1);
  window.set(1, 0x100000010, 1);
  EXPECT_EQ(candidates(window, 0x100000020).front(), 0U);
}

TEST(Window, OfNobodyNamesNobody) {
  Window window;
  EXPECT_TRUE(candidates(window, 1).empty());
  window.move_on();
  EXPECT_TRUE(candidates(window, 1).empty());
}

}  // namespace
}  // namespace larder::policy
