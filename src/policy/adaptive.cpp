#include "policy/adaptive.hpp"

#include <algorithm>
#include <new>

namespace larder::policy {
namespace {

constexpr std::size_t kSamples = 32;
constexpr int kCuriousSteps = 64;

}  // namespace

Adaptive::Adaptive(std::uint64_t seed, Limits limits) : random_(seed), shadows_(mix(seed), limits) {
  drawn_.reserve(kSamples);
}

void Adaptive::do_insert(Id id, const Entry& entry, Past past) {
  if (id >= known_.size()) known_.resize(static_cast<std::size_t>(id) + 1);
  candidates_.reserve(size() + 1);
  Known& known = known_[id];
  known.facts = {past.before, density(entry.weight, entry.cost), past.remembered, 0};
  known.facts.used(past.when, past.uses);
  if (past.remembered == 0) known.facts.pause = 0;
  known.place = candidates_.insert(id);
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
  if (known.watch == Shadows::kNoWatch) return;
  try {
    shadows_.used(known.watch, touch.when, touch.uses, now());
  } catch (const std::bad_alloc&) {  // then a shadow misses it
  }
}

void Adaptive::do_reweigh(Id id, std::uint64_t weight, std::uint64_t cost) {
  known_[id].facts.density = density(weight, cost);
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
  drawn_.clear();
}

void Adaptive::take_out(Id id) {
  if (std::find(drawn_.begin(), drawn_.end(), id) != drawn_.end()) drawn_.clear();
  const std::uint32_t place = known_[id].place;
  if (const Id moved = candidates_.remove(place); moved != kNoId) known_[moved].place = place;
}

void Adaptive::end_watches() {
  for (const Id id : shadows_.forgotten()) known_[id].watch = Shadows::kNoWatch;
  shadows_.forgotten().clear();
}

Id Adaptive::do_victim() {
  if (drawn_.empty()) {
    candidates_.draw(kSamples, random_, drawn_);
    drawn_by_ = shadows_.best();
    for (const Id id : drawn_) __builtin_prefetch(&known_[id]);
  }
  Id worst = kNoId;
  float highest = -1;
  for (const Id id : drawn_) {
    const float one = score(drawn_by_, known_[id].facts, now(), shadows_.odds());
    if (one > highest) {
      highest = one;
      worst = id;
    }
  }
  return worst;
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
  return known_.capacity() * sizeof(Known) + candidates_.memory_bytes() + drawn_.capacity() * sizeof(Id) +
         shadows_.memory_bytes();
}

}  // namespace larder::policy
