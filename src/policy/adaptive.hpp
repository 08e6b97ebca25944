// Adaptive keeps one set of facts about each entry and lets go whoever scores highest, of 32 drawn at random,
// by the score that would have missed the least cost lately. Which one that is it learns from shadow caches
// over a sample of the keys (shadows.hpp), which also teach the score that learns (odds.hpp).
#pragma once

#include <span>
#include <vector>

#include "policy/policy.hpp"
#include "policy/sample.hpp"
#include "policy/scores.hpp"
#include "policy/shadows.hpp"
#include "policy/window.hpp"

namespace larder::policy {

class Adaptive final : public Policy {
 public:
  Adaptive(std::uint64_t seed, Limits limits);

  // The score it goes by, and what that one has learned.
  Score current() const noexcept { return shadows_.best(); }
  const Odds& odds() const noexcept { return shadows_.odds(); }

 private:
  struct Known {
    Facts facts;
    std::uint32_t place = 0;  // among the candidates
    Shadows::Watch watch = Shadows::kNoWatch;
  };

  void do_insert(Id id, const Entry& entry, Past past) override;
  void do_touch(Id id, Touch touch) override;
  void do_reweigh(Id id, std::uint64_t weight, std::uint64_t cost) override;
  void do_remove(Id id, Departure departure) override;
  void do_pin(Id id) override;
  void do_unpin(Id id) override;
  Id do_victim() override;
  std::span<const Id> do_likely() override;
  Id do_curious() override;
  std::uint32_t do_uses(Id id) const override { return known_[id].facts.uses; }
  Tick do_last_use(Id id) const override { return known_[id].facts.last; }
  void do_resize(Limits limits) override { shadows_.resize(limits); }
  std::size_t do_memory_bytes() const noexcept override;
  void take_out(Id id);
  void end_watches();
  void forget_score(Id id);
  void sum_up(Id id) noexcept;

  Random random_;
  bool is_cheap_ = false;  // what came in last
  std::vector<Known> known_;
  Sample candidates_;
  Window window_;  // where what comes in is cheap to make again
  // The sample that the next victim comes from, and the score it is judged by; as in Sampled.
  std::vector<Id> drawn_;
  Score drawn_by_ = Score::odds;
  // Of the drawn, kUnscored for those that must be scored again: a tier asks for a victim once for each
  // second look, and little changes between.
  std::vector<float> scores_;
  Tick scored_at_ = 0;
  std::uint64_t scored_with_ = 0;  // what the odds had learned by then
  Shadows shadows_;
  Id asked_about_ = 0;  // by curious()
};

}  // namespace larder::policy
