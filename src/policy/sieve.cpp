#include "policy/sieve.hpp"

namespace larder::policy {

void Sieve::do_insert(Id id, const Entry&, Past) {
  links_.reach(id);
  if (id >= visited_.size()) visited_.resize(links_.of.size());
  visited_[id] = false;
  order_.push_front(links_, id);
}

void Sieve::do_touch(Id id, Touch) {
  visited_[id] = true;
}

void Sieve::do_remove(Id id, Departure) {
  if (id == hand_) hand_ = links_.of[id].before;
  order_.remove(links_, id);
}

Id Sieve::do_victim() {
  if (hand_ == kNoId) hand_ = order_.back;
  while (visited_[hand_] || is_pinned(hand_)) {
    if (!is_pinned(hand_)) visited_[hand_] = false;
    hand_ = links_.of[hand_].before;
    if (hand_ == kNoId) hand_ = order_.back;
  }
  return hand_;
}

std::size_t Sieve::do_memory_bytes() const noexcept {
  return links_.memory_bytes() + visited_.capacity() / 8;
}

}  // namespace larder::policy
