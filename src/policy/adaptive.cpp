#include "policy/adaptive.hpp"

#include <algorithm>
#include <new>

namespace larder::policy {
namespace {

constexpr std::size_t kSamples = 32;
constexpr int kCuriousSteps = 64;
constexpr float kUnscored = -2;  // no score is negative

}  // namespace

Adaptive::Adaptive(std::uint64_t seed, Limits limits) : random_(seed), shadows_(mix(seed), limits) {
  drawn_.reserve(kSamples);
  scores_.reserve(kSamples);
}

void Adaptive::do_insert(Id id, const Entry& entry, Past past) {
  if (id >= known_.size()) {
    window_.reserve(id);
    known_.resize(static_cast<std::size_t>(id) + 1);
  }
  candidates_.reserve(size() + 1);
  Known& known = known_[id];
  known.facts = {past.before, density(entry.weight, entry.cost), past.remembered, 0};
  known.facts.used(past.when, past.uses);
  if (past.remembered == 0) known.facts.pause = 0;
  known.place = candidates_.insert(id);
  sum_up(id);
  known.watch = Shadows::kNoWatch;
  is_cheap_ = entry.is_cheap;
  if (is_cheap_) {  // the shadows rest
    window_.move_on();
    return;
  }
  drawn_.clear();
  try {
    known.watch = shadows_.inserted(id, entry, known.facts, now());
  } catch (const std::bad_alloc&) {  // then nothing is learned from it
    known.watch = Shadows::kNoWatch;
  }
  end_watches();
}

void Adaptive::do_touch(Id id, Touch touch) {
  Known& known = known_[id];
  known.facts.used(touch.when, touch.uses);
  if (!window_.is_hidden(id)) sum_up(id);
  forget_score(id);
  if (known.watch == Shadows::kNoWatch) return;
  try {
    shadows_.used(known.watch, touch.when, touch.uses, now());
  } catch (const std::bad_alloc&) {  // then a shadow misses it
  }
}

void Adaptive::do_reweigh(Id id, std::uint64_t weight, std::uint64_t cost) {
  known_[id].facts.density = density(weight, cost);
  if (!window_.is_hidden(id)) sum_up(id);
  forget_score(id);
  if (known_[id].watch != Shadows::kNoWatch) shadows_.reweighed(known_[id].watch, weight, cost);
}

void Adaptive::do_remove(Id id, Departure) {
  if (known_[id].watch != Shadows::kNoWatch) shadows_.left(known_[id].watch);
  take_out(id);
}

void Adaptive::do_pin(Id id) {
  take_out(id);
}
void Adaptive::do_unpin(Id id) {
  known_[id].place = candidates_.insert(id);
  sum_up(id);
  drawn_.clear();
}

void Adaptive::take_out(Id id) {
  window_.hide(id);
  if (std::find(drawn_.begin(), drawn_.end(), id) != drawn_.end()) drawn_.clear();
  const std::uint32_t place = known_[id].place;
  if (const Id moved = candidates_.remove(place); moved != kNoId) known_[moved].place = place;
}

void Adaptive::end_watches() {
  for (const Id id : shadows_.forgotten()) known_[id].watch = Shadows::kNoWatch;
  shadows_.forgotten().clear();
}

void Adaptive::forget_score(Id id) {
  if (scores_.size() != drawn_.size()) return;
  for (std::size_t i = 0; i < drawn_.size(); ++i) {
    if (drawn_[i] == id) scores_[i] = kUnscored;
  }
}

void Adaptive::sum_up(Id id) noexcept {
  const Facts& facts = known_[id].facts;
  window_.set(id, facts.last, facts.density / static_cast<float>(facts.uses));
}

Id Adaptive::do_victim() {
  if (is_cheap_ && candidates_.size() != 0) {
    std::span<const Id> named = window_.candidates(now());
    // There may be a stretch of ids that nobody has.
    for (; named.empty(); named = window_.candidates(now())) window_.move_on();
    return named.front();
  }
  bool is_new = scored_at_ != now() || scored_with_ != shadows_.odds().learned();
  if (drawn_.empty()) {
    candidates_.draw(kSamples, random_, drawn_);
    drawn_by_ = shadows_.best();
    for (const Id id : drawn_) __builtin_prefetch(&known_[id]);
    is_new = true;
  }
  if (is_new) {
    scores_.assign(drawn_.size(), kUnscored);
    scored_at_ = now();
    scored_with_ = shadows_.odds().learned();
  }
  Id worst = kNoId;
  float highest = -1;
  for (std::size_t i = 0; i < drawn_.size(); ++i) {
    float& one = scores_[i];
    if (one == kUnscored) one = score(drawn_by_, known_[drawn_[i]].facts, now(), shadows_.odds());
    if (one > highest) {
      highest = one;
      worst = drawn_[i];
    }
  }
  return worst;
}

// A sample of dear ones is drawn when one must leave.
std::span<const Id> Adaptive::do_likely() {
  if (!is_cheap_) return {};
  const std::span<const Id> named = window_.candidates(now());
  if (!named.empty()) __builtin_prefetch(&known_[named.front()], 1);
  return named;
}

// Those that the shadows watch, in turn.
Id Adaptive::do_curious() {
  for (int i = 0; i < kCuriousSteps; ++i) {
    asked_about_ = asked_about_ + 1 < known_.size() ? asked_about_ + 1 : 0;
    if (contains(asked_about_) && known_[asked_about_].watch != Shadows::kNoWatch) return asked_about_;
  }
  return kNoId;
}

std::size_t Adaptive::do_memory_bytes() const noexcept {
  return known_.capacity() * sizeof(Known) + window_.memory_bytes() + candidates_.memory_bytes() +
         drawn_.capacity() * sizeof(Id) + scores_.capacity() * sizeof(float) + shadows_.memory_bytes();
}

}  // namespace larder::policy
