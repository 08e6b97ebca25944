#include "policy/sampled.hpp"

#include <algorithm>

#include "policy/scores.hpp"

namespace larder::policy {

Sampled::Sampled(std::uint64_t seed, std::uint32_t samples) : samples_(std::max(samples, 1U)), random_(seed) {
  drawn_.reserve(samples_);
}

void Sampled::do_insert(Id id, const Entry& entry, Past past) {
  if (id >= known_.size()) known_.resize(static_cast<std::size_t>(id) + 1);
  candidates_.reserve(size() + 1);
  known_[id] = {past.when, density(entry.weight, entry.cost), more(past.uses, past.remembered),
                candidates_.insert(id)};
  drawn_.clear();
}

void Sampled::do_touch(Id id, Touch touch) {
  Known& known = known_[id];
  known.last = std::max(known.last, touch.when);
  known.uses = more(known.uses, touch.uses);
}

void Sampled::do_reweigh(Id id, std::uint64_t weight, std::uint64_t cost) {
  known_[id].density = density(weight, cost);
}

void Sampled::do_remove(Id id, Departure) {
  take_out(id);
}
void Sampled::do_pin(Id id) {
  take_out(id);
}
void Sampled::do_unpin(Id id) {
  known_[id].place = candidates_.insert(id);
  drawn_.clear();
}

void Sampled::take_out(Id id) {
  if (std::find(drawn_.begin(), drawn_.end(), id) != drawn_.end()) drawn_.clear();
  const std::uint32_t place = known_[id].place;
  if (const Id moved = candidates_.remove(place); moved != kNoId) known_[moved].place = place;
}

Id Sampled::do_victim() {
  if (drawn_.empty()) {
    candidates_.draw(samples_, random_, drawn_);
    for (const Id id : drawn_) __builtin_prefetch(&known_[id]);
  }
  Id worst = kNoId;
  double highest = -1;
  for (const Id id : drawn_) {
    const Known& known = known_[id];
    const double score = static_cast<double>(now() - known.last + 1) * static_cast<double>(known.density) /
                         static_cast<double>(known.uses);
    if (score > highest) {
      highest = score;
      worst = id;
    }
  }
  return worst;
}

std::uint32_t Sampled::do_uses(Id id) const {
  return known_[id].uses;
}

Tick Sampled::do_last_use(Id id) const {
  return known_[id].last;
}

std::size_t Sampled::do_memory_bytes() const noexcept {
  return known_.capacity() * sizeof(Known) + candidates_.memory_bytes() + drawn_.capacity() * sizeof(Id);
}

}  // namespace larder::policy
