#include "policy/adaptive.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace larder::policy {
namespace {

constexpr std::size_t kSamples = 32;
// Where what comes in is cheap to make again, the shadows rest and it goes by frequency. Those that should
// leave most of all who were looked at stay drawn, and the next few in the order of their ids are looked at
// for each that comes in: that touches less memory than a new sample, and forgets less.
constexpr std::size_t kPoolWhenCheap = 8;
constexpr std::size_t kJoiningWhenCheap = 16;
constexpr int kCuriousSteps = 64;
constexpr float kUnscored = -2;  // no score is negative

}  // namespace

Adaptive::Adaptive(std::uint64_t seed, Limits limits) : random_(seed), shadows_(mix(seed), limits) {
  drawn_.reserve(kSamples);
  scores_.reserve(kSamples);
}

void Adaptive::do_insert(Id id, const Entry& entry, Past past) {
  if (id >= known_.size()) {
    briefs_.resize(static_cast<std::size_t>(id) + 1);
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
  if (!entry.is_cheap || !is_cheap_) drawn_.clear();
  is_cheap_ = entry.is_cheap;
  is_pool_due_ = is_cheap_;
  if (entry.is_cheap) return;
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
  if (briefs_[id].density != Brief::kPinned) sum_up(id);
  forget_score(id);
  if (known.watch == Shadows::kNoWatch) return;
  try {
    shadows_.used(known.watch, touch.when, touch.uses, now());
  } catch (const std::bad_alloc&) {  // then a shadow misses it
  }
}

void Adaptive::do_reweigh(Id id, std::uint64_t weight, std::uint64_t cost) {
  known_[id].facts.density = density(weight, cost);
  if (briefs_[id].density != Brief::kPinned) sum_up(id);
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
  briefs_[id].density = Brief::kPinned;
  if (const auto at = std::find(drawn_.begin(), drawn_.end(), id); at != drawn_.end()) {
    if (is_cheap_) {
      scores_[static_cast<std::size_t>(at - drawn_.begin())] = scores_.back();
      scores_.pop_back();
      *at = drawn_.back();
      drawn_.pop_back();
    } else {
      drawn_.clear();
    }
  }
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
  briefs_[id] = {static_cast<std::uint32_t>(facts.last), facts.density / static_cast<float>(facts.uses)};
}

// -1 for who is not to be had.
float Adaptive::score_by_frequency(Id id) const noexcept {
  const Brief& brief = briefs_[id];
  if (brief.density < 0) return Brief::kPinned;
  return brief.density * (static_cast<float>(static_cast<std::uint32_t>(now()) - brief.last) + 1);
}

// Looks at a few more, who take the places of those that should leave least.
void Adaptive::renew_pool() {
  is_pool_due_ = false;
  if (candidates_.size() <= kPoolWhenCheap || drawn_.empty()) {
    candidates_.draw(kPoolWhenCheap, random_, drawn_);
    std::sort(drawn_.begin(), drawn_.end());
    drawn_.erase(std::unique(drawn_.begin(), drawn_.end()), drawn_.end());
    scores_.assign(drawn_.size(), kUnscored);
    return;
  }
  // On the stack and of a fixed size, which is several times faster than in the vectors.
  std::array<Id, kPoolWhenCheap> ids;
  std::array<float, kPoolWhenCheap> scores;
  for (std::size_t i = 0; i < kPoolWhenCheap; ++i) {
    const bool is_there = i < drawn_.size();
    ids[i] = is_there ? drawn_[i] : kNoId;
    scores[i] = !is_there                 ? Brief::kPinned
                : scores_[i] != kUnscored ? scores_[i]
                                          : score_by_frequency(ids[i]);
  }
  float lowest = *std::min_element(scores.begin(), scores.end());
  for (std::size_t i = 0; i < kJoiningWhenCheap; ++i) {
    hand_ = hand_ + 1 < briefs_.size() ? hand_ + 1 : 0;
    const float one = score_by_frequency(hand_);  // as low as an empty place: not to be had
    if (one <= lowest) continue;
    if (std::find(ids.begin(), ids.end(), hand_) != ids.end()) continue;
    std::size_t least = 0;
    while (scores[least] != lowest) ++least;
    ids[least] = hand_;
    scores[least] = one;
    lowest = *std::min_element(scores.begin(), scores.end());
  }
  drawn_.clear();
  scores_.clear();
  for (std::size_t i = 0; i < kPoolWhenCheap; ++i) {
    if (ids[i] == kNoId) continue;
    drawn_.push_back(ids[i]);
    scores_.push_back(scores[i]);
  }
}

Id Adaptive::do_victim() {
  if (is_cheap_) {
    if (is_pool_due_ || drawn_.empty()) renew_pool();
  } else {
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
  }
  Id worst = kNoId;
  float highest = -1;
  for (std::size_t i = 0; i < drawn_.size(); ++i) {
    float& one = scores_[i];
    if (one == kUnscored) {
      one = is_cheap_ ? score_by_frequency(drawn_[i])
                      : score(drawn_by_, known_[drawn_[i]].facts, now(), shadows_.odds());
    }
    if (one > highest) {
      highest = one;
      worst = drawn_[i];
    }
  }
  return worst;
}

// The pool, which stays; a sample of dear ones is drawn when one must leave.
std::span<const Id> Adaptive::do_likely() {
  if (!is_cheap_ || candidates_.size() == 0) return {};
  if (is_pool_due_ || drawn_.empty()) renew_pool();
  const auto highest = std::max_element(scores_.begin(), scores_.end()) - scores_.begin();
  std::swap(scores_[0], scores_[static_cast<std::size_t>(highest)]);
  std::swap(drawn_[0], drawn_[static_cast<std::size_t>(highest)]);
  __builtin_prefetch(&known_[drawn_[0]], 1);
  return drawn_;
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
  return known_.capacity() * sizeof(Known) + briefs_.capacity() * sizeof(Brief) + candidates_.memory_bytes() +
         drawn_.capacity() * sizeof(Id) + scores_.capacity() * sizeof(float) + shadows_.memory_bytes();
}

}  // namespace larder::policy
