#include "policy/odds.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace larder::policy {
namespace {

constexpr auto nobody_waits = [](auto) {};

TEST(Odds, BeginAsIfTheyHadLearnedFromNothing) {
  const Odds fresh;
  Odds learned;
  learned.learn([](const auto&) {});
  for (const std::uint32_t uses : {1U, 2U, 4U, 1000U}) {
    for (const Tick pause : {0U, 1U, 100U, 1U << 23}) {
      for (Tick age = 1; age <= Odds::kAgeMax; age *= 3) {
        const std::size_t of_class = Odds::class_of(uses, pause);
        EXPECT_EQ(fresh.worth(of_class, age), learned.worth(of_class, age));
      }
    }
  }
}

TEST(Odds, TellAgesApartByAQuarterOctave) {
  EXPECT_EQ(Odds::step(0), Odds::step(1));
  for (Tick age = 1; age < 8; ++age) EXPECT_EQ(Odds::step(age + 1), Odds::step(age) + 1) << age;
  EXPECT_EQ(Odds::step(8), Odds::step(9));
  EXPECT_NE(Odds::step(9), Odds::step(10));
  EXPECT_EQ(Odds::step(Tick{1} << 20), Odds::step(Tick{1} << 19) + 4);
  EXPECT_EQ(Odds::step(~Tick{0}), Odds::kSteps - 1);
}

TEST(Odds, PutEntriesIntoClassesByFrequencyAndPause) {
  EXPECT_EQ(Odds::class_of(1, 5), Odds::class_of(1, 500)) << "used once: no pause to speak of";
  EXPECT_EQ(Odds::class_of(3, 100), Odds::class_of(4, 120));
  EXPECT_NE(Odds::class_of(2, 100), Odds::class_of(3, 100));
  EXPECT_NE(Odds::class_of(3, 100), Odds::class_of(3, 200));
  EXPECT_EQ(Odds::class_of(9, 1), Odds::class_of(9000, 1));
}

TEST(Odds, AssumeLruBeforeTheyKnow) {
  const Odds odds;
  const std::size_t any = Odds::class_of(2, 50);
  for (Tick age = 1; age < (Tick{1} << 20); age *= 2) {
    EXPECT_GT(odds.worth(any, age), odds.worth(any, age * 2)) << age;
    EXPECT_GT(odds.worth(any, age), 0);
  }
}

// Entries that come back after exactly 100 ticks, as in a loop.
TEST(Odds, FindThatALoopIsWorthMostJustBeforeItComesRound) {
  Odds odds;
  const std::size_t looping = Odds::class_of(4, 100);
  for (int i = 0; i < 1000; ++i) odds.used(looping, 100);
  odds.learn(nobody_waits);
  EXPECT_GT(odds.worth(looping, 90), 2 * odds.worth(looping, 10)) << "the opposite of LRU";
  EXPECT_NEAR(odds.worth(looping, 20), 1.0 / 84, 0.003) << "one use within the 76 to 92 ticks to come";
  EXPECT_LT(odds.worth(looping, 200), odds.worth(looping, 20)) << "past its time";
}

TEST(Odds, FindThatWhatIsNeverUsedAgainIsWorthLittle) {
  Odds odds;
  const std::size_t once = Odds::class_of(1, 0);
  const std::size_t often = Odds::class_of(8, 300);
  for (int i = 0; i < 300; ++i) {
    odds.given_up(once, 5000);
    odds.used(often, 300);
  }
  odds.learn(nobody_waits);
  EXPECT_GT(odds.worth(often, 100), 20 * odds.worth(once, 100));
}

TEST(Odds, CountThoseThatAreStillWaiting) {
  Odds lucky;
  Odds sober;
  const std::size_t some = Odds::class_of(2, 50);
  for (int i = 0; i < 100; ++i) {
    lucky.used(some, 10);
    sober.used(some, 10);
  }
  lucky.learn(nobody_waits);
  sober.learn([&](auto tell) {
    for (int i = 0; i < 900; ++i) tell(some, Tick{1000});
  });
  EXPECT_GT(lucky.worth(some, 8), 3 * sober.worth(some, 8));
}

TEST(Odds, LearnAnotherPhase) {
  Odds odds;
  const std::size_t some = Odds::class_of(2, 50);
  for (int i = 0; i < 100; ++i) odds.used(some, 10);
  odds.learn(nobody_waits);
  const float before = odds.worth(some, 8);
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 100; ++i) odds.used(some, 1000);
    odds.learn(nobody_waits);
  }
  EXPECT_LT(odds.worth(some, 8), before / 5);
}

// The index by its definition: the best, over all horizons, of chance of use over time taken.
TEST(Odds, AreTheBestPlanOverAllHorizons) {
  Odds odds;
  const std::size_t some = Odds::class_of(3, 64);
  for (int i = 0; i < 400; ++i) {
    odds.used(some, 4);
    odds.used(some, 200 + static_cast<Tick>(i) % 50);
    odds.given_up(some, 4000);
  }
  odds.learn(nobody_waits);
  const auto fraction_used = [](Tick from,
                                Tick to) {  // of 1200 entries, of those that were not used up to `from`
    const double alive = from < 4 ? 1200 : from < 200 ? 800 : from < 250 ? 600 : 400;
    double used = from < 4 && to >= 4 ? 400 : 0;
    used += from < 200 && to >= 250 ? 400 : 0;
    return used / alive;
  };
  // At age 100: keeping it until 250 gives 400 of 800 within at most 150 ticks; no plan gives much more.
  const double plan = fraction_used(100, 250) / 140;
  EXPECT_GT(odds.worth(some, 100), plan * 0.8);
  EXPECT_LT(odds.worth(some, 100), plan * 1.6);
  EXPECT_GT(odds.worth(some, 1), fraction_used(1, 4) / 4.0 * 0.5);
}

}  // namespace
}  // namespace larder::policy
