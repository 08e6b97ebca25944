// Who stays and who leaves: admission, eviction, families, clear and pressure.
#include <algorithm>
#include <limits>
#include <new>
#include <span>
#include <utility>

#include "memory/core.hpp"
#include "memory/family.hpp"

namespace larder::detail {
namespace {

constexpr std::uint32_t kStampStep = kFrequencyMax + 1;
// Victims that were used since are spared, up to so many for one eviction: no request walks the whole tier.
constexpr int kSecondLooksMax = 128;

constexpr std::uint64_t kUnreclaimedMin = 1u << 20;

// What took less to make counts as having taken this long: below it stand larder's own work for a miss and
// the noise of the clock, and a policy that took noise for cost would keep the wrong entries.
constexpr std::uint64_t kCostMin_ns = 8192;

std::uint64_t added(std::uint64_t a, std::uint64_t b) noexcept {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max()
                                                           : a + b;
}

std::uint32_t stamp_at(policy::Tick tick) noexcept {
  const auto stamp = static_cast<std::uint32_t>(tick * kStampStep) & kStampBits;
  return stamp == 0 ? kStampStep : stamp;
}

// The latest tick not after `now` that bears the stamp in `used`.
policy::Tick tick_of(std::uint32_t used, policy::Tick now) noexcept {
  const auto age = ((stamp_at(now) - (used & kStampBits)) & kStampBits) / kStampStep;
  return age > now ? 0 : now - age;
}

void drop_home_product(Retired* retired) noexcept {
  let_go(static_cast<Record*>(retired)->slot.home);
}
void drop_away_product(Retired* retired) noexcept {
  let_go(*static_cast<AwayObject*>(retired));
}

}  // namespace

Core::Gone Core::let_product_go(Retired& retired) noexcept {
  ObjectHead& object = retired.drop == drop_home_product
                           ? static_cast<Record&>(retired).slot.home
                           : static_cast<ObjectHead&>(static_cast<AwayObject&>(retired));
  return object.holders.fetch_sub(1, std::memory_order_acq_rel) == 1 ? destroy(object) : Gone{};
}

// --- Coming

Reason Core::keep(Record& record, Making& making, std::uint64_t cost_ns, const MakeOptions& options,
                  Aftermath& after) {
  if (is_shut_) return Reason::closed;
  if (bytes_max_ == 0 || count_max_ == 0) return Reason::disabled;
  // What a reader keeps from being freed is bounded like what is kept.
  if (unreclaimed_bytes() > std::max(bytes_max_, kUnreclaimedMin)) return Reason::out_of_space;
  const std::uint64_t charge = added(making.weight, overhead(record));
  const Reason refusal = budget_.admits(charge, cost_ns);
  if (refusal != Reason::none) return refusal;
  const std::uint64_t idle = idle_bytes_ - (record.is_idle ? overhead(record) : 0);
  if (added(idle, charge) > bytes_max_) return Reason::out_of_space;
  const policy::Room needed{idle + charge, 1};
  make_room(needed, after);
  if (!budget_.fits(needed)) return Reason::out_of_space;
  if (!join_family(record, options.parent.slot_ == nullptr ? nullptr : options.parent.slot_->record)) {
    return Reason::evicted;
  }
  try {
    if (free_ids_.empty()) {
      // Room for every id that there is, so that giving one back needs no memory.
      if (free_ids_.capacity() <= by_id_.size()) free_ids_.reserve(2 * by_id_.size() + 8);
      by_id_.emplace_back();  // the last that may fail: no id is to be had that has no place here
      free_ids_.push_back(static_cast<policy::Id>(by_id_.size() - 1));
    }
    const policy::Id id = free_ids_.back();
    budget_.insert(id, {.key = record.key.low,
                        .weight = charge,
                        .cost = std::max(cost_ns, kCostMin_ns),
                        .group = options.group,
                        .is_cheap = cost_ns < kCostMin_ns});
  } catch (const std::bad_alloc&) {
    leave_family(record);
    return Reason::out_of_resources;
  }
  record.id = free_ids_.back();
  free_ids_.pop_back();
  if (options.pinned) budget_.pin(record.id);
  by_id_[record.id] = {&record, &record.slot};
  record.is_kept = true;
  if (!std::exchange(record.is_shown, true)) table_.show(&record);
  record.weight.store(making.weight, std::memory_order_relaxed);
  record.cost_ns.store(cost_ns, std::memory_order_relaxed);
  settle(record);

  Slot& slot = record.slot;
  slot.cost.store(static_cast<std::uint32_t>(std::min<std::uint64_t>(cost_ns >> 10, ~std::uint32_t{0})),
                  std::memory_order_relaxed);
  slot.object.store(making.object, std::memory_order_release);  // I1
  slot.value.store(making.value, std::memory_order_release);
  slot.used.store(making.object->is_at_home ? 0 : kNotHome, std::memory_order_release);
  move_stamp();
  if (cost_ns >= kCostMin_ns) tell_the_curious();
  return Reason::none;
}

// A stamp per insertion would have every hit write; one for each small part of the tier replaced tells as
// much.
void Core::move_stamp() noexcept {
  constexpr std::size_t kStampsPerTier = 16;
  if (++since_stamp_ < 1 + budget_.stats().entries / kStampsPerTier) return;
  since_stamp_ = 0;
  stamp_.store(stamp_at(budget_.now()), std::memory_order_relaxed);
}

// --- Going

// What evicting touches comes from memory while the product is made that wants the room.
void Core::fetch_likely_victims() noexcept {
  const std::span<const policy::Id> ids = budget_.likely();
  if (ids.empty()) return;
  for (const policy::Id id : ids) __builtin_prefetch(by_id_[id].slot, 1);
  const Record* const first = by_id_[ids.front()].record;
  __builtin_prefetch(first, 1);
  __builtin_prefetch(&first->weight, 1);
}

// Tells the policy of uses since it was last told; false when there were none.
bool Core::take_second_look(policy::Id id) {
  std::atomic<std::uint32_t>& used = by_id_[id].slot->used;
  const std::uint32_t seen = used.load(std::memory_order_relaxed);
  const std::uint32_t news = seen & ~kNotHome;
  if (news == 0) return false;
  used.store(seen & kNotHome, std::memory_order_relaxed);
  budget_.touch(id, {.when = tick_of(news, budget_.now()), .uses = news & kFrequencyMax});
  return true;
}

void Core::tell_the_curious() noexcept try {
  for (int i = 0; i < 2; ++i) {
    const policy::Id id = budget_.curious();
    if (id == policy::kNoId || !take_second_look(id)) return;
  }
} catch (const std::bad_alloc&) {
}

// Without memory for the policy's own work there may be less room than asked for.
void Core::make_room(policy::Room needed, Aftermath& after) noexcept try {
  int looks = 0;
  for (policy::Id id; (id = budget_.victim(needed)) != policy::kNoId;) {
    if (looks++ < kSecondLooksMax && take_second_look(id)) continue;
    leave(*by_id_[id].record, Reason::evicted, after);
  }
} catch (const std::bad_alloc&) {
}

// Takes the product out of its slot. Returns the children that must go with it (leave_family).
Record* Core::take_product(Record& record, Reason reason, Aftermath& after) noexcept {
  Slot& slot = record.slot;
  ObjectHead* const object = slot.object.load(std::memory_order_relaxed);
  slot.used.store(kNotHome, std::memory_order_release);  // I1
  slot.value.store(nullptr, std::memory_order_release);
  slot.object.store(nullptr, std::memory_order_release);

  const std::uint64_t weight = record.weight.load(std::memory_order_relaxed);
  const std::uint64_t cost_ns = record.cost_ns.load(std::memory_order_relaxed);
  const bool is_regretted = reason == Reason::evicted || reason == Reason::out_of_resources;
  bool is_told = false;
  if (is_regretted && !budget_.is_pinned(record.id)) {
    try {
      budget_.evict(record.id);
      is_told = true;
    } catch (const std::bad_alloc&) {  // no memory to remember it
    }
  }
  if (!is_told) budget_.erase(record.id);
  by_id_[record.id] = {};
  free_ids_.push_back(record.id);
  record.id = policy::kNoId;
  record.is_kept = false;
  record.left = reason;

  // I2
  Retired& retired = object->is_at_home ? static_cast<Retired&>(record) : static_cast<AwayObject&>(*object);
  bin_.retire(retired, added(weight, overhead(record)),
              object->is_at_home ? drop_home_product : drop_away_product);
  if (is_regretted) {
    counters_.count(Counter::evicted);
    counters_.count(Counter::evicted_bytes, weight);
    counters_.count(Counter::evicted_cost_ns, cost_ns);
  }
  if (is_listened()) {
    try {
      after.departed.push_back({&record, weight, cost_ns, reason});
    } catch (const std::bad_alloc&) {  // an event less
    }
  }
  return leave_family(record);
}

void Core::leave(Record& record, Reason reason, Aftermath& after) noexcept {
  Record* waiting = take_product(record, reason, after);
  settle(record);
  while (waiting != nullptr) {
    Record* const child = waiting;
    waiting = child->family.next_doomed;
    if (&child->core != this) {
      child->family.next_doomed = std::exchange(after.doomed, child);
      continue;
    }
    end_doom(*child);
    if (child->is_kept) {
      for (Record* more = take_product(*child, reason, after); more != nullptr;) {
        Record* const grandchild = std::exchange(more, more->family.next_doomed);
        grandchild->family.next_doomed = std::exchange(waiting, grandchild);
      }
    }
    child->claims.fetch_sub(1, std::memory_order_acq_rel);
    settle(*child);
  }
  after.reason = reason;
}

void Core::evict_child(Record& record, Aftermath& after) noexcept {
  {
    MutexLock lock(mutex_);
    come_in();
    if (record.is_kept) leave(record, after.reason, after);
    record.claims.fetch_sub(1, std::memory_order_acq_rel);
    settle(record);
  }
  go_out();
}

void Core::settle_aftermath(Aftermath& after) noexcept {
  while (after.doomed != nullptr) {
    Record& child = *std::exchange(after.doomed, end_doom(*after.doomed));
    child.core.evict_child(child, after);
  }
  for (const Aftermath::Departed& each : after.departed) {
    emit({.kind = EventKind::evicted,
          .reason = each.reason,
          .tier = Tier::memory,
          .recipe_kind = each.record->kind(),
          .key = each.record->key,
          .bytes = each.weight,
          .cost = Nanoseconds(static_cast<std::int64_t>(each.cost_ns))});
  }
}

bool Core::erase_product(Record* record, const Recipe* recipe) noexcept {
  Aftermath after;
  const Key key = recipe == nullptr ? Key{} : key_of(*recipe);
  bool was_kept = false;
  {
    Pin pin;
    {
      MutexLock lock(mutex_);
      if (record == nullptr) record = table_.find_any(key, recipe->canonical());
      if (record == nullptr) return false;
      record->flight = nullptr;
      was_kept = record->is_kept;
      if (was_kept) leave(*record, Reason::cleared, after);
    }
    settle_aftermath(after);
  }
  collect();
  return was_kept;
}

bool Core::pin_product(Record& record, bool pinned) noexcept {
  MutexLock lock(mutex_);
  if (!record.is_kept) return false;
  if (pinned != budget_.is_pinned(record.id)) pinned ? budget_.pin(record.id) : budget_.unpin(record.id);
  return true;
}

void Core::clear_all(Reason reason) noexcept {
  Aftermath after;
  {
    Pin pin;
    {
      MutexLock lock(mutex_);
      const bool spare_pinned = reason == Reason::out_of_resources;
      for (Flight* flight = flights_; flight != nullptr && !spare_pinned; flight = flight->next) {
        if (flight->record->flight == flight) flight->record->flight = nullptr;
      }
      for (std::size_t id = 0; id < by_id_.size(); ++id) {
        Record* const record = by_id_[id].record;
        if (record == nullptr || (spare_pinned && budget_.is_pinned(static_cast<policy::Id>(id)))) continue;
        leave(*record, reason, after);
      }
    }
    settle_aftermath(after);
  }
  collect();
}

void Core::shrink(Pressure pressure) noexcept {
  Aftermath after;
  {
    Pin pin;
    {
      MutexLock lock(mutex_);
      const std::uint64_t quarter = bytes_max_ / 4;
      const std::uint64_t target =
          pressure == Pressure::moderate && quarter > idle_bytes_ ? quarter - idle_bytes_ : 0;
      int looks = 0;
      for (policy::Id id; (id = budget_.victim_above(target)) != policy::kNoId;) {
        if (target != 0 && looks++ < kSecondLooksMax && take_second_look(id)) continue;
        leave(*by_id_[id].record, Reason::evicted, after);
      }
    }
    settle_aftermath(after);
  }
  collect();
}

MemoryStats Core::read_stats() const noexcept {
  MutexLock lock(mutex_);
  const policy::BudgetStats& kept = budget_.stats();
  MemoryStats stats{.count = kept.entries,
                    .interned = table_.size(),
                    .bytes = kept.bytes + idle_bytes_,
                    .unreclaimed = unreclaimed(),
                    .unreclaimed_bytes = unreclaimed_bytes(),
                    .bytes_per_recipe = facts_.slot_size - facts_.home_size + sizeof(Record)};
  for (const Flight* flight = flights_; flight != nullptr; flight = flight->next) {
    ++stats.making;
    stats.waiting += flight->joined;
  }
  return stats;
}

}  // namespace larder::detail
