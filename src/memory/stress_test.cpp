// Readers against eviction, for a while. What a reader sees must be whole and alive.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "base/epoch.hpp"
#include "larder/memory.hpp"
#include "memory/testing.hpp"

namespace larder {
namespace {

using testing::numbered;

using namespace std::chrono_literals;

constexpr int kKeys = 64;
constexpr std::uint64_t kAlive = 0x616c697665;

// Knows when it is dead, and whose it is.
struct Watched {
  explicit Watched(int of) : key(of) {}
  ~Watched() { alive.store(0, std::memory_order_relaxed); }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  std::atomic<std::uint64_t> alive{kAlive};
  int key;
};

void race(std::chrono::milliseconds length, int threads) {
  MemoryTier<Watched> tier({.count_max = kKeys / 4});
  MemoryTier<Watched> children;
  std::vector<InternedRecipe<Watched>> recipes;
  for (int i = 0; i < kKeys; ++i) recipes.push_back(tier.intern(numbered(i)));
  std::atomic<std::uint64_t> bad{0};
  std::atomic<std::uint64_t> good{0};
  const auto check = [&](const Watched& seen, int key) {
    ++(seen.alive.load(std::memory_order_relaxed) == kAlive && seen.key == key ? good : bad);
  };
  const auto end = std::chrono::steady_clock::now() + length;
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      while (std::chrono::steady_clock::now() < end) {
        const int key = static_cast<int>(random() % kKeys);
        const auto& recipe = recipes[static_cast<std::size_t>(key)];
        const auto make = [&] { return Watched(key); };
        switch (random() % 16) {
          case 0:
            tier.erase(numbered(key));
            break;
          case 1:
          case 2:
            if (const auto held = tier.get_or_make(numbered(key), make)) check(**held, key);
            break;
          case 3:
            if (const auto held = tier.get_or_make(recipe, make)) check(**held, key);
            break;
          case 4:
            if (random() % 64 == 0) tier.clear();
            break;
          case 5:
            if (const auto held = children.get_or_make(numbered(key), make, {.parent = recipe}))
              check(**held, key);
            break;
          case 6:
            if (const auto held = tier.get(numbered(key))) check(*held, key);
            break;
          case 7:
            good += tier.get(tier.intern(numbered(key + kKeys))) ? 0 : 1;
            break;
          default: {
            Guard guard(tier);
            for (int i = 0; i < 20; ++i) {
              const int near = (key + i) % kKeys;
              if (Watched* const seen = guard.get(recipes[static_cast<std::size_t>(near)]))
                check(*seen, near);
              if (Watched* const seen = i % 8 != 0 ? nullptr : guard.get(numbered(near))) check(*seen, near);
            }
          }
        }
      }
    });
  }
  for (auto& worker : workers) worker.join();
  EXPECT_EQ(bad, 0u);
  EXPECT_GT(good, 1000u);
  recipes.clear();
  tier.clear();
  EXPECT_EQ(children.stats().count, 0u);
  EXPECT_EQ(tier.stats().bytes, 0u);
  EXPECT_EQ(tier.stats().interned, 0u);
  EXPECT_EQ(tier.stats().unreclaimed, 0u);
}

TEST(Readers, SeeOnlyLivingObjectsWhileOthersEvict) {
  race(300ms, 4);
}

TEST(StressReaders, SeeOnlyLivingObjectsWhileOthersEvict) {
  race(20s, 8);
}

// Last: it changes the whole process.
TEST(StressReadersWithFences, SeeOnlyLivingObjectsWhileOthersEvict) {
  use_fences_for_epochs();
  race(20s, 8);
}

}  // namespace
}  // namespace larder
