#include "policy/budget.hpp"

#include <algorithm>
#include <limits>
#include <new>

#include "base/assert.hpp"

namespace larder::policy {
namespace {

constexpr std::size_t kGhostsFirst = 256;

bool within(std::uint64_t kept, std::uint64_t added, std::uint64_t limit) noexcept {
  return limit == 0 || (added <= limit && kept <= limit - added);
}

std::uint64_t share(std::uint64_t limit, double part) noexcept {
  return part >= 1 ? limit : static_cast<std::uint64_t>(static_cast<double>(limit) * part);
}

}  // namespace

Budget::Budget(const BudgetOptions& options)
    : options_(options),
      policy_(make(options.policy, {.seed = options.seed, .limits = options.limits})),
      ghosts_(options.ghosts_max == BudgetOptions::kAsManyAsKept ? 0 : options.ghosts_max) {
  options_.low_water = std::clamp(options_.low_water, 0.0, 1.0);
}

Reason Budget::admits(std::uint64_t weight, std::uint64_t cost_ns, std::uint64_t load_ns) {
  if (!within(0, weight, options_.limits.bytes)) {
    ++stats_.refused_too_large;
    return Reason::too_large;
  }
  if (cost_ns != 0 && cost_ns < load_ns) {
    ++stats_.refused_too_cheap;
    return Reason::too_cheap;
  }
  if (!within(stats_.pinned_bytes, weight, options_.limits.bytes) ||
      !within(stats_.pinned_entries, 1, options_.limits.entries)) {
    return Reason::out_of_space;
  }
  return Reason::none;
}

bool Budget::fits(Room needed) const noexcept {
  return within(stats_.bytes, needed.bytes, options_.limits.bytes) &&
         within(stats_.entries, needed.entries, options_.limits.entries);
}

Id Budget::victim(Room needed) {
  const bool room = fits(needed);
  if (!room) draining_ = true;
  if (!draining_) return kNoId;
  const auto& [bytes, entries] = options_.limits;
  const bool low = (bytes == 0 || stats_.bytes <= share(bytes, options_.low_water)) &&
                   (entries == 0 || stats_.entries <= share(entries, options_.low_water));
  const Id id = room && low ? kNoId : policy_->victim();
  if (id == kNoId) draining_ = false;
  return id;
}

std::span<const Id> Budget::likely() {
  const std::span<const Id> ids = policy_->likely();
  if (!ids.empty()) ghosts_.prefetch(kept_[ids.front()].key);
  return ids;
}

Id Budget::victim_above(std::uint64_t bytes) {
  const bool enough = bytes == 0 ? stats_.entries == 0 : stats_.bytes <= bytes;
  return enough ? kNoId : policy_->victim();
}

Reason Budget::missed(std::uint64_t key) {
  const Ghost* ghost = ghosts_.find(key);
  if (ghost == nullptr) return Reason::absent;
  ++stats_.ghost_hits;
  // As a float the largest costs there are lie just above what the type holds.
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t cost = ghost->cost < 0x1p64F ? static_cast<std::uint64_t>(ghost->cost) : kMost;
  stats_.ghost_cost_ns += std::min(cost, kMost - stats_.ghost_cost_ns);
  return Reason::evicted;
}

void Budget::insert(Id id, const Entry& entry, Past past) {
  if (id >= kept_.size()) kept_.resize(static_cast<std::size_t>(id) + 1);
  const Ghost* const ghost = ghosts_.find(entry.key);
  if (ghost != nullptr) {
    past.remembered = more(past.remembered, ghost->uses);
    past.before = ghost->when;
  }
  policy_->insert(id, entry, past);
  if (ghost != nullptr) ghosts_.forget(*ghost);
  kept_[id] = {entry.key, entry.weight, entry.cost};
  stats_.bytes += entry.weight;
  ++stats_.entries;
  ++stats_.inserted;
}

void Budget::reweigh(Id id, std::uint64_t weight, std::uint64_t cost) {
  policy_->reweigh(id, weight, cost);
  Kept& kept = kept_[id];
  stats_.bytes += weight - kept.weight;
  if (policy_->is_pinned(id)) stats_.pinned_bytes += weight - kept.weight;
  kept.weight = weight;
  kept.cost = cost;
}

void Budget::evict(Id id) {
  LARDER_ASSERT(contains(id) && !is_pinned(id));
  const Kept& kept = kept_[id];
  stats_.evicted_bytes += kept.weight;
  stats_.evicted_cost_ns += kept.cost;
  ++stats_.evicted_entries;
  grow_ghosts();
  ghosts_.remember({.key = kept.key,
                    .when = policy_->last_use(id),
                    .uses = policy_->uses(id),
                    .cost = static_cast<float>(kept.cost)});
  leave(id, Departure::evicted);
}

void Budget::erase(Id id) {
  if (is_pinned(id)) unpin(id);
  leave(id, Departure::erased);
}

void Budget::leave(Id id, Departure departure) {
  policy_->remove(id, departure);
  stats_.bytes -= kept_[id].weight;
  --stats_.entries;
}

void Budget::pin(Id id) {
  policy_->pin(id);
  stats_.pinned_bytes += kept_[id].weight;
  ++stats_.pinned_entries;
}

void Budget::unpin(Id id) {
  policy_->unpin(id);
  stats_.pinned_bytes -= kept_[id].weight;
  --stats_.pinned_entries;
}

void Budget::set_limits(Limits limits) {
  options_.limits = limits;
  policy_->resize(limits);
}

void Budget::remember(const Ghost& ghost) {
  grow_ghosts();
  ghosts_.remember(ghost);
}

// Doubles, so that the copying is O(1) per eviction.
void Budget::grow_ghosts() try {
  if (options_.ghosts_max != BudgetOptions::kAsManyAsKept) return;
  if (ghosts_.size() < ghosts_.count_max() || ghosts_.count_max() >= std::max(kGhostsFirst, policy_->size()))
    return;
  ghosts_.resize(std::max(kGhostsFirst, 2 * ghosts_.count_max()));
} catch (const std::bad_alloc&) {  // then so many are remembered as were before
}

std::size_t Budget::memory_bytes() const noexcept {
  return policy_->memory_bytes() + ghosts_.memory_bytes() + kept_.capacity() * sizeof(Kept);
}

}  // namespace larder::policy
