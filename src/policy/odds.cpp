#include "policy/odds.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace larder::policy {
namespace {

constexpr std::size_t kSteps = Odds::kSteps;

// How much of an earlier learn() counts in the next.
constexpr float kFade = 0.98F;
// As many uses of evidence as what a class leans on weighs.
constexpr double kTrust = 2;
// LRU's assumption: after an age, so much chance per tick and age.
constexpr double kHazardTimesAge = 0.5;

using Row = std::array<double, kSteps>;

// The lowest age of each step, and of the one after the last.
constexpr std::array<double, kSteps + 1> kFirstAge = [] {
  std::array<double, kSteps + 1> ages{1, 2, 3};
  double octave = 4;
  for (std::size_t step = 3; step <= kSteps; ++step) {
    const std::size_t quarter = (step + 1) % 4;
    ages[step] = octave * static_cast<double>(4 + quarter) / 4;
    if (quarter == 3) octave *= 2;
  }
  return ages;
}();

constexpr double width(std::size_t step) {
  return kFirstAge[step + 1] - kFirstAge[step];
}

struct Record {
  Row uses{};
  Row time{};  // that entries spent at these ages

  // Ends are half way through their step.
  void count(const float* used, const float* unused) {
    double beyond = 0;
    for (std::size_t step = kSteps; step-- > 0;) {
      const double here = static_cast<double>(used[step]) + static_cast<double>(unused[step]);
      uses[step] = static_cast<double>(used[step]);
      time[step] = (beyond + here / 2) * width(step);
      beyond += here;
    }
  }
  void add(const Record& other) {
    for (std::size_t step = 0; step < kSteps; ++step) {
      uses[step] += other.uses[step];
      time[step] += other.time[step];
    }
  }
  Row hazard(const Row& lean_on) const {
    Row found{};
    for (std::size_t step = 0; step < kSteps; ++step) {
      found[step] = (uses[step] + kTrust) / (time[step] + kTrust / lean_on[step]);
    }
    return found;
  }
};

Row assumed_hazard() {
  Row assumed{};
  for (std::size_t step = 0; step < kSteps; ++step) assumed[step] = kHazardTimesAge / kFirstAge[step];
  return assumed;
}

// A run of steps that one plan keeps an entry through.
struct Plan {
  double used = 0;   // chance of a use within, for an entry that begins it
  double time = 0;   // expected to be taken within
  double alive = 1;  // chance of passing it unused
  double worth() const noexcept { return used / time; }
};

// From the last step to the first: a step is joined with the plans behind it as long as that raises its
// worth.
void write_worth(const Row& hazard, float* worth) {
  std::array<Plan, kSteps> plans;
  std::size_t count = 0;
  for (std::size_t step = kSteps; step-- > 0;) {
    Plan plan;
    plan.used = -std::expm1(-hazard[step] * width(step));
    plan.time = plan.used / hazard[step];
    plan.alive = 1 - plan.used;
    while (count > 0 && plans[count - 1].worth() > plan.worth()) {
      const Plan& behind = plans[--count];
      plan.used += plan.alive * behind.used;
      plan.time += plan.alive * behind.time;
      plan.alive *= behind.alive;
    }
    plans[count++] = plan;
    worth[step] = std::max(static_cast<float>(plan.worth()), 1e-30F);
  }
}

}  // namespace

// As learn_from() would, from nothing: then all classes are alike.
Odds::Odds() : uses_(kClasses * kSteps), given_up_(uses_), worth_(uses_) {
  const Record nothing;
  write_worth(nothing.hazard(nothing.hazard(nothing.hazard(assumed_hazard()))), worth_.data());
  for (std::size_t c = 1; c < kClasses; ++c) std::copy_n(worth_.data(), kSteps, &worth_[c * kSteps]);
}

void Odds::learn_from(const std::vector<float>& unused) {
  std::vector<Record> of_class(kClasses);
  std::array<Record, kFrequencies> of_frequency;
  Record of_all;
  const auto frequency_of = [](std::size_t c) { return c == 0 ? 0 : 1 + (c - 1) / kPauses; };
  for (std::size_t c = 0; c < kClasses; ++c) {
    of_class[c].count(&uses_[c * kSteps], &unused[c * kSteps]);
    of_frequency[frequency_of(c)].add(of_class[c]);
    of_all.add(of_class[c]);
  }
  const Row all = of_all.hazard(assumed_hazard());
  for (std::size_t c = 0; c < kClasses; ++c) {
    write_worth(of_class[c].hazard(of_frequency[frequency_of(c)].hazard(all)), &worth_[c * kSteps]);
  }
  for (float& count : uses_) count *= kFade;
  for (float& count : given_up_) count *= kFade;
}

}  // namespace larder::policy
