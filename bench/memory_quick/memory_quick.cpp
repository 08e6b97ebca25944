// A quick look at what a hit costs: every way to hold one, beside the memory floor, hits drawn by Zipf 1.0.
//   memory_quick [entries] [threads]
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "larder/memory.hpp"

namespace {

using larder::Guard;
using larder::InternedRecipe;
using larder::MemoryTier;

struct Blob {
  std::array<std::uint64_t, 8> words{};
};

std::vector<std::uint32_t> zipf(std::size_t entries, std::size_t count, std::uint64_t seed) {
  std::vector<double> sums(entries);
  double sum = 0;
  for (std::size_t i = 0; i < entries; ++i) sums[i] = sum += 1.0 / static_cast<double>(i + 1);
  std::vector<std::uint32_t> places(entries);
  for (std::size_t i = 0; i < entries; ++i) places[i] = static_cast<std::uint32_t>(i);
  std::mt19937_64 random(7);
  std::shuffle(places.begin(), places.end(), random);
  std::mt19937_64 draw(seed);
  std::uniform_real_distribution<double> uniform(0, sum);
  std::vector<std::uint32_t> picks(count);
  for (auto& pick : picks) {
    const auto rank = std::upper_bound(sums.begin(), sums.end(), uniform(draw)) - sums.begin();
    pick = places[std::min<std::size_t>(static_cast<std::size_t>(rank), entries - 1)];
  }
  return picks;
}

template <typename Body>
double per_hit(const std::vector<std::vector<std::uint32_t>>& picks, Body body) {
  std::vector<double> best(picks.size(), 1e9);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < picks.size(); ++t) {
    threads.emplace_back([&, t] {
      std::vector<double> times;
      for (int round = 0; round < 7; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        body(picks[t]);
        const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
        times.push_back(took.count() / static_cast<double>(picks[t].size()));
      }
      std::sort(times.begin(), times.end());
      best[t] = times[times.size() / 2];
    });
  }
  for (auto& thread : threads) thread.join();
  return *std::max_element(best.begin(), best.end());
}

volatile std::uint64_t sink;

}  // namespace

int main(int count, char** words) {
  const std::size_t entries = count > 1 ? std::strtoull(words[1], nullptr, 10) : 10'000;
  const std::size_t threads = count > 2 ? std::strtoull(words[2], nullptr, 10) : 1;

  std::vector<std::vector<std::uint32_t>> picks;
  for (std::size_t t = 0; t < threads; ++t) picks.push_back(zipf(entries, 2'000'000, 11 + t));

  std::vector<std::unique_ptr<Blob>> blobs(entries);
  for (std::size_t i = 0; i < entries; ++i) blobs[i] = std::make_unique<Blob>(Blob{{i}});

  MemoryTier<Blob> tier({.bytes_max = std::uint64_t{4} << 30});
  std::vector<InternedRecipe<Blob>> recipes;
  for (std::size_t i = 0; i < entries; ++i) {
    recipes.push_back(tier.intern(larder::Recipe("bench").add("i", std::to_string(i))));
    static_cast<void>(tier.get_or_make(recipes.back(), [&] { return Blob{{i}}; }));
  }
  const auto stats = tier.stats();
  std::printf("%zu entries, %zu threads, %.0f bytes per entry\n", stats.count, threads,
              static_cast<double>(stats.bytes) / static_cast<double>(stats.count));

  const auto line = [&](const char* what, auto body) {
    std::printf("%-34s %8.2f ns\n", what, per_hit(picks, body));
  };
  line("floor: array -> blob", [&](const auto& order) {
    std::uint64_t sum = 0;
    for (const auto i : order) sum += blobs[i]->words[0];
    sink = sum;
  });
  line("floor, dependent", [&](const auto& order) {
    std::uint64_t sum = 0;
    for (const auto i : order) sum += blobs[i + (sum & (std::uint64_t{1} << 62))]->words[0];
    sink = sum;
  });
  line("one guard for all", [&](const auto& order) {
    std::uint64_t sum = 0;
    Guard guard(tier);
    for (const auto i : order) sum += guard.get(recipes[i])->words[0];
    sink = sum;
  });
  line("guard for each", [&](const auto& order) {
    std::uint64_t sum = 0;
    for (const auto i : order) {
      Guard guard(tier);
      sum += guard.get(recipes[i])->words[0];
    }
    sink = sum;
  });
  line("guard for each, dependent", [&](const auto& order) {
    std::uint64_t sum = 0;
    for (const auto i : order) {
      Guard guard(tier);
      sum += guard.get(recipes[i + (sum & (std::uint64_t{1} << 62))])->words[0];
    }
    sink = sum;
  });
  line("held", [&](const auto& order) {
    std::uint64_t sum = 0;
    for (const auto i : order) sum += tier.get(recipes[i])->words[0];
    sink = sum;
  });
  line("held, dependent", [&](const auto& order) {
    std::uint64_t sum = 0;
    for (const auto i : order) sum += tier.get(recipes[i + (sum & (std::uint64_t{1} << 62))])->words[0];
    sink = sum;
  });
  line("shared_ptr", [&](const auto& order) {
    std::uint64_t sum = 0;
    for (const auto i : order) sum += tier.get(recipes[i]).to_shared()->words[0];
    sink = sum;
  });
  line("get_or_make", [&](const auto& order) {
    std::uint64_t sum = 0;
    for (const auto i : order) sum += (*tier.get_or_make(recipes[i], [] { return Blob{}; }))->words[0];
    sink = sum;
  });
  return 0;
}
