// Odds learn, from the entries they are told of, how soon an entry is asked for again: entries are put into
// classes by how often they were used and how long the last pause was, and for each class and age the table
// says how many uses per tick keeping such an entry is worth. One thread at a time.
//
// What a place in a cache is worth is uses per time that it is taken. An entry that was not used for `age`
// ticks has, by the record of its class, some chance of being used in the next tick: the hazard. Were the
// hazard all, a loop would never pay: shortly after a use the chance is nought, and it is highest when the
// loop comes round. So the worth is the best that any plan "keep it for so long and no longer" gives: the
// highest, over all horizons, of the chance that it is used before the horizon over the time that it is
// expected to take its place until then. (This is the index by which Gittins, 1979, orders jobs of unknown
// length; it contains LRU, MRU on loops, and frequency.)
//
// Hazards are counted: uses at an age, over the time that entries of the class spent at that age, those
// included that are still waiting or were given up. A class that saw little leans on all classes of its
// frequency, these on all there are, and these on what LRU assumes: a hazard that falls as 1 / age. Counts
// fade, so that a change of phase is learned.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/policy.hpp"

namespace larder::policy {

class Odds {
 public:
  // Ages are told apart in quarter octaves: 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, ... Worth falls as 1
  // / age beyond the highest.
  static constexpr Tick kAgeMax = Tick{1} << 24;
  static constexpr std::size_t kSteps = 4 * 24 - 4;
  static std::size_t step(Tick age) noexcept {
    if (age < 4) return age == 0 ? 0 : static_cast<std::size_t>(age - 1);
    const auto octave = static_cast<std::size_t>(std::bit_width(age)) - 1;
    const std::size_t quarter = static_cast<std::size_t>(age >> (octave - 2)) & 3;
    return std::min(4 * octave + quarter - 5, kSteps - 1);
  }
  // Of an entry used so often, whose last two uses were so far apart (0: unknown).
  static std::size_t class_of(std::uint32_t uses, Tick pause) noexcept {
    if (uses <= 1) return 0;
    const auto frequency = std::min(static_cast<std::size_t>(std::bit_width(uses - 1)), kFrequencies - 1);
    const auto octave = std::min(static_cast<std::size_t>(std::bit_width(pause)), kPauses - 1);
    return 1 + (frequency - 1) * kPauses + octave;
  }

  Odds();
  // An entry of the class was used, or will no longer be followed, at this age.
  void used(std::size_t of_class, Tick age) { ++uses_[of_class * kSteps + step(age)]; }
  void given_up(std::size_t of_class, Tick age) { ++given_up_[of_class * kSteps + step(age)]; }

  // Makes a new table. `each_waiting(tell)` tells the class and age of every entry that is still being
  // followed. A quarter of a millisecond, and what each_waiting takes.
  template <typename EachWaiting>
  void learn(EachWaiting each_waiting) {
    std::vector<float> ended = given_up_;
    each_waiting([&](std::size_t of_class, Tick age) { ++ended[of_class * kSteps + step(age)]; });
    learn_from(ended);
    ++learned_;
  }
  // How often; what worth() says changes with it only.
  std::uint64_t learned() const noexcept { return learned_; }

  // Uses per tick; always above 0.
  float worth(std::size_t of_class, Tick age) const noexcept {
    const float in_table = worth_[of_class * kSteps + step(age)];
    return age <= kAgeMax ? in_table : in_table * static_cast<float>(kAgeMax) / static_cast<float>(age);
  }
  std::size_t memory_bytes() const noexcept { return 3 * worth_.capacity() * sizeof(float); }

 private:
  // Frequencies: 1, 2, 3-4, 5-8, 9 and more. Pauses: by octave, and unknown. What was used once has no pause.
  static constexpr std::size_t kFrequencies = 5;
  static constexpr std::size_t kPauses = 25;
  static constexpr std::size_t kClasses = 1 + (kFrequencies - 1) * kPauses;

  void learn_from(const std::vector<float>& unused);

  std::vector<float> uses_;  // these three by class and step
  std::vector<float> given_up_;
  std::vector<float> worth_;
  std::uint64_t learned_ = 0;
};

}  // namespace larder::policy
