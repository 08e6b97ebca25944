// Scores say, from one set of facts about an entry, how much it should leave: the highest goes first. All of
// them ask what a place in the cache is used for; they differ in how they guess when the entry will be asked
// for again.
#pragma once

#include <array>
#include <cstdint>

#include "policy/odds.hpp"
#include "policy/policy.hpp"

namespace larder::policy {

struct Facts {
  Tick last = 0;            // the last use
  float density = 0;        // size / cost
  std::uint32_t uses = 0;   // requests, those before an eviction included
  std::uint32_t pause = 0;  // ticks between the last two uses, 0: unknown

  void used(Tick when, std::uint32_t more_uses) noexcept {
    uses = more(uses, more_uses);
    if (when <= last) return;
    pause = static_cast<std::uint32_t>(when - last < 0xffffffff ? when - last : 0xffffffff);
    last = when;
  }
};

enum class Score : std::uint8_t {
  odds,       // density / what Odds says
  frequency,  // age * density / uses, as `sampled`
  density,    // age * density: greedy for what is dear and small
  age,        // LRU
};
inline constexpr std::array kScores = {Score::odds, Score::frequency, Score::density, Score::age};

inline float density(std::uint64_t weight, std::uint64_t cost) noexcept {
  return static_cast<float>(weight == 0 ? 1 : weight) / static_cast<float>(cost == 0 ? 1 : cost);
}

inline float score(Score by, const Facts& facts, Tick now, const Odds& odds) noexcept {
  const Tick ticks = now > facts.last ? now - facts.last : 0;
  const float age = static_cast<float>(ticks + 1);
  switch (by) {
    case Score::odds:
      return facts.density / odds.worth(Odds::class_of(facts.uses, facts.pause), ticks + 1);
    case Score::frequency:
      return age * facts.density / static_cast<float>(facts.uses);
    case Score::density:
      return age * facts.density;
    case Score::age:
      break;
  }
  return age;
}

}  // namespace larder::policy
