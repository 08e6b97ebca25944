#include "policy/ghosts.hpp"

#include <utility>

namespace larder::policy {

Ghosts::Ghosts(std::size_t count_max) : ring_(count_max) {
  index_.reset(count_max);
}

void Ghosts::resize(std::size_t count_max) {
  Ghosts resized(count_max);
  for_each([&](const Ghost& ghost) { resized.remember(ghost); });
  *this = std::move(resized);
}

void Ghosts::forget(std::uint32_t place) {
  index_.remove(ring_[place].key, [this](std::uint32_t at) { return ring_[at].key; });
  ring_[place].uses = 0;
  --size_;
}

void Ghosts::remember(const Ghost& ghost) {
  if (ring_.empty()) return;
  const auto key_at = [this](std::uint32_t at) { return ring_[at].key; };
  if (const std::uint32_t place = index_.find(ghost.key, key_at); place != Places::kNone) forget(place);
  if (ring_[next_].uses != 0) forget(static_cast<std::uint32_t>(next_));
  index_.insert(ghost.key, static_cast<std::uint32_t>(next_), key_at);
  ring_[next_] = ghost;
  if (ghost.uses == 0) ring_[next_].uses = 1;
  ++size_;
  next_ = next_ + 1 == ring_.size() ? 0 : next_ + 1;
}

const Ghost* Ghosts::find(std::uint64_t key) const noexcept {
  const std::uint32_t place = index_.find(key, [this](std::uint32_t at) { return ring_[at].key; });
  return place == Places::kNone ? nullptr : &ring_[place];
}

void Ghosts::prefetch(std::uint64_t key) const noexcept {
  if (ring_.empty()) return;
  index_.prefetch(key);
  index_.prefetch(ring_[next_].key);  // whom it takes the place of
}

std::optional<Ghost> Ghosts::take(std::uint64_t key) {
  const Ghost* found = find(key);
  if (found == nullptr) return std::nullopt;
  const Ghost ghost = *found;
  forget(*found);
  return ghost;
}

void Ghosts::clear() {
  *this = Ghosts(ring_.size());
}

}  // namespace larder::policy
