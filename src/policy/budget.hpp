// A Budget stands between a tier and its policy: it counts what is kept against one set of limits, says what
// may come in and who must leave, and remembers what left. Every tier has one, never one per shard: shares of
// a budget turn big entries away. No lock inside; the tier's mutex stands around it.
//
// How a tier uses it, under its mutex:
//
//     reason = budget.missed(key);                              // nobody here: absent, or evicted and
//     regretted
//     ... make, without the mutex ...
//     reason = budget.admits(weight, cost, load); if (reason != Reason::none) hand it out unkept;
//     for (Id id; (id = budget.victim({weight, 1})) != kNoId;) {
//       if (news(id)) { budget.touch(id, {.when = stamp(id), .uses = hits(id)}); continue; }   // second look
//       budget.evict(id);  drop it
//     }
//     if (!budget.fits({weight, 1})) hand it out unkept: Reason::out_of_space, what is left is pinned;
//     budget.insert(id, {key, weight, cost, group});
//     publish budget.now() for hits to stamp their entries with
//
// Ids are the tier's, small, given again after evict or erase (see policy.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "larder/event.hpp"
#include "policy/ghosts.hpp"
#include "policy/kind.hpp"
#include "policy/policy.hpp"

namespace larder::policy {

// A part of a budget.
struct Room {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

struct BudgetOptions {
  Limits limits;
  Kind policy = Kind::adaptive;
  std::uint64_t seed = 1;
  // Once something must leave, entries leave until what is kept is at most this share of the limits: 1 evicts
  // just enough, 0.5 to half.
  double low_water = 1;
  // How many evicted entries are remembered; kAsManyAsKept grows with the tier.
  std::size_t ghosts_max = kAsManyAsKept;

  static constexpr std::size_t kAsManyAsKept = ~std::size_t{0};
};

struct BudgetStats {
  std::uint64_t bytes = 0;  // kept now
  std::uint64_t entries = 0;
  std::uint64_t pinned_bytes = 0;
  std::uint64_t pinned_entries = 0;
  std::uint64_t inserted = 0;  // since the start
  std::uint64_t evicted_entries = 0;
  std::uint64_t evicted_bytes = 0;
  std::uint64_t evicted_cost_ns = 0;
  std::uint64_t ghost_hits = 0;  // misses that had been hits but for an eviction, and what they cost
  std::uint64_t ghost_cost_ns = 0;
  std::uint64_t refused_too_large = 0;
  std::uint64_t refused_too_cheap = 0;
};

class Budget {
 public:
  explicit Budget(const BudgetOptions& options);

  // Whether an entry may come in: none, too_large (alone it exceeds the limits), too_cheap (loading it again
  // takes longer than making it) or out_of_space (pinned entries leave no room for it). Refusals are counted.
  // A cost or load time of 0 is unknown, and nothing is refused for it.
  Reason admits(std::uint64_t weight, std::uint64_t cost_ns, std::uint64_t load_ns = 0);

  bool fits(Room needed) const noexcept;
  // Who must leave before `needed` fits; kNoId when it does, or when nobody may leave. Removes nobody.
  Id victim(Room needed = {});
  // Who must leave before at most `bytes` are kept, whatever the limits; 0 asks for all to leave. For memory
  // pressure.
  Id victim_above(std::uint64_t bytes);

  // Guesses at who will leave next (Policy::likely). Asks memory for what evicting the first will touch here.
  std::span<const Id> likely();

  // Counts a request that found nothing: Reason::evicted when the key is remembered, else Reason::absent.
  Reason missed(std::uint64_t key);

  // What is remembered of the key is added to `past.remembered` and forgotten here. May throw std::bad_alloc,
  // and has then changed nothing.
  void insert(Id id, const Entry& entry, Past past = {});
  void touch(Id id, Touch touch = {}) { policy_->touch(id, touch); }
  // May leave more kept than the limits allow: ask victim() afterwards.
  void reweigh(Id id, std::uint64_t weight, std::uint64_t cost);
  void evict(Id id);  // for want of room: counted and remembered
  void erase(Id id);  // for any other reason
  void pin(Id id);
  void unpin(Id id);
  bool is_pinned(Id id) const noexcept { return policy_->is_pinned(id); }
  bool contains(Id id) const noexcept { return policy_->contains(id); }

  // Entries the policy would like to hear of (Policy::curious).
  Id curious() { return policy_->curious(); }
  Tick now() const noexcept { return policy_->now(); }
  void advance_to(Tick now) noexcept { policy_->advance_to(now); }
  // As Past wants it back when the entry is inserted again elsewhere.
  std::uint32_t uses(Id id) const { return policy_->uses(id); }

  // Asks nobody to leave: ask victim() afterwards.
  void set_limits(Limits limits);
  const Limits& limits() const noexcept { return options_.limits; }
  const BudgetStats& stats() const noexcept { return stats_; }

  // The memory of evicted entries, to be kept over a restart: for_each here, remember there.
  const Ghosts& ghosts() const noexcept { return ghosts_; }
  void remember(const Ghost& ghost);

  // What the budget and its policy hold in memory.
  std::size_t memory_bytes() const noexcept;

 private:
  struct Kept {
    std::uint64_t key = 0;
    std::uint64_t weight = 0;
    std::uint64_t cost = 0;
  };

  void leave(Id id, Departure departure);
  void grow_ghosts();

  BudgetOptions options_;
  std::unique_ptr<Policy> policy_;
  std::vector<Kept> kept_;
  Ghosts ghosts_;
  BudgetStats stats_;
  bool draining_ = false;  // above the low-water mark, on the way down
};

}  // namespace larder::policy
