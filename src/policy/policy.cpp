#include "policy/policy.hpp"

#include "base/assert.hpp"

namespace larder::policy {

void Policy::insert(Id id, const Entry& entry, Past past) {
  named_ = kNoId;
  LARDER_ASSERT(id != kNoId && !contains(id));
  if (id >= state_.size()) state_.resize(static_cast<std::size_t>(id) + 1, State::absent);
  ++now_;
  if (past.when > now_) past.when = now_;
  if (past.uses == 0) past.uses = 1;
  try {
    do_insert(id, entry, past);
  } catch (...) {
    --now_;
    throw;
  }
  state_[id] = State::present;
  ++size_;
}

void Policy::touch(Id id, Touch touch) {
  named_ = kNoId;
  LARDER_ASSERT(contains(id));
  const Tick before = now_;
  if (touch.when == kNow) ++now_;
  if (touch.when > now_) touch.when = now_;
  try {
    do_touch(id, touch);
  } catch (...) {
    now_ = before;
    throw;
  }
}

void Policy::reweigh(Id id, std::uint64_t weight, std::uint64_t cost) {
  named_ = kNoId;
  LARDER_ASSERT(contains(id));
  do_reweigh(id, weight, cost);
}

void Policy::remove(Id id, Departure departure) {
  named_ = kNoId;
  LARDER_ASSERT(contains(id));
  if (is_pinned(id)) unpin(id);
  do_remove(id, departure);
  state_[id] = State::absent;
  --size_;
}

void Policy::pin(Id id) {
  named_ = kNoId;
  LARDER_ASSERT(contains(id) && !is_pinned(id));
  state_[id] = State::pinned;
  ++pinned_;
  do_pin(id);
}

void Policy::unpin(Id id) {
  named_ = kNoId;
  LARDER_ASSERT(is_pinned(id));
  state_[id] = State::present;
  --pinned_;
  do_unpin(id);
}

Id Policy::victim() {
  if (named_ != kNoId || unpinned() == 0) return named_;
  named_ = do_victim();
  LARDER_ASSERT(contains(named_) && !is_pinned(named_));
  return named_;
}

std::uint32_t Policy::uses(Id id) const {
  LARDER_ASSERT(contains(id));
  return do_uses(id);
}

Tick Policy::last_use(Id id) const {
  LARDER_ASSERT(contains(id));
  return do_last_use(id);
}

void Policy::do_reweigh(Id, std::uint64_t, std::uint64_t) {}
void Policy::do_pin(Id) {}
void Policy::do_unpin(Id) {}
std::span<const Id> Policy::do_likely() {
  return {};
}
Id Policy::do_curious() {
  return kNoId;
}
std::uint32_t Policy::do_uses(Id) const {
  return 1;
}
Tick Policy::do_last_use(Id) const {
  return now();
}
void Policy::do_resize(Limits) {}

}  // namespace larder::policy
