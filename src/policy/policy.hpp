// A Policy decides who leaves a full tier. It knows entries by small ids and what they weigh, cost and were
// used for; it holds no product, reads no clock, does no I/O, takes no lock, and with the same seed does the
// same every time. One thread at a time; the tier's mutex stands around it.
//
// The owner (a tier, through Budget) guarantees:
//   - ids are small: they index arrays. An id is given by one insert, ends with remove, and may then be given
//   again;
//   - touch, reweigh, pin, unpin, remove and uses name an id that is present, insert one that is not;
//   - it removes before it inserts when there is no room.
// The policy guarantees:
//   - victim() names a present entry that is not pinned, or kNoId when there is none; it removes nothing, and
//   asked
//     again with nothing changed in between it names the same entry;
//   - removing what victim() names, again and again, empties the policy;
//   - every call but victim() is O(1) or O(log n), and victim() is so amortised; lru_vector is the exception;
//   - insert, and touch with another group, may throw std::bad_alloc and have then changed nothing; the rest
//   throws
//     nothing.
//
// Late touches. A tier whose hits take no lock cannot tell the policy of each of them. It keeps a word per
// entry instead: the policy's now() at the last hit and how many hits there were, written only when it
// changes. Before it lets a victim go it compares that word with what it last told, and where there is news
// it takes a second look:
//
//     Id id = policy.victim();
//     while (id != kNoId && news(id)) {
//       policy.touch(id, {.when = stamp(id), .uses = hits(id)});
//       id = policy.victim();
//     }
//
// Where a score can only get better by use (sampled, adaptive) this ends with the very entry that a policy
// told of every hit at once would have named, because the sample stays the same until its victim leaves.
// Lists become second-chance lists. A touch with an explicit `when` does not move the clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace larder::policy {

using Id = std::uint32_t;
inline constexpr Id kNoId = 0xffffffff;

// The policy's own time: it moves by one with each insert and each touch that says no `when`.
using Tick = std::uint64_t;
inline constexpr Tick kNow = ~Tick{0};

struct Entry {
  std::uint64_t key = 0;     // 64 well mixed bits of the recipe's key
  std::uint64_t weight = 0;  // bytes
  std::uint64_t cost = 0;    // nanoseconds that making it again takes; 0 stands for unknown and counts as 1
  std::uint64_t group = 0;   // who uses it (a page, an application): read by `grouped` only
  bool is_cheap = false;     // made again in less time than a policy needs to learn from it: it need not
};

// What is known of an entry when it is inserted. The default says: asked for just now, for the first time.
struct Past {
  std::uint32_t uses = 1;        // requests known of, this one included
  std::uint32_t remembered = 0;  // requests before those, up to its last eviction
  Tick when = kNow;              // the last request; later than now() means now()
  Tick before = 0;               // the last of the remembered ones
};

// News of an entry that is present.
struct Touch {
  Tick when = kNow;                  // the last use; kNow: told as it happens, and the clock moves
  std::uint32_t uses = 1;            // uses since it was last told of
  std::uint64_t group = kSameGroup;  // who used it

  static constexpr std::uint64_t kSameGroup = ~std::uint64_t{0};
};

enum class Departure : std::uint8_t {
  evicted,  // for want of room: it may come back, and the policy may remember it
  erased,   // for any other reason
};

// What the tier holds at most. 0 stands for no limit.
struct Limits {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

// Adds counts and stops at the highest.
constexpr std::uint32_t more(std::uint32_t uses, std::uint32_t added) noexcept {
  return added > ~uses ? ~std::uint32_t{0} : uses + added;
}

// The capacity to reserve so that `size` fits and growing step by step stays O(1) each.
constexpr std::size_t reach(std::size_t capacity, std::size_t size) noexcept {
  return size <= capacity ? capacity : size > 2 * capacity ? size : 2 * capacity;
}

class Policy {
 public:
  virtual ~Policy() = default;
  Policy() = default;
  Policy(const Policy&) = delete;
  Policy& operator=(const Policy&) = delete;

  void insert(Id id, const Entry& entry, Past past = {});
  void touch(Id id, Touch touch = {});
  // The weight or cost turned out to be another.
  void reweigh(Id id, std::uint64_t weight, std::uint64_t cost);
  void remove(Id id, Departure departure);

  // A pinned entry is never a victim and keeps what is known of it. Pins do not nest: the owner counts.
  void pin(Id id);
  void unpin(Id id);

  Id victim();

  // Guesses at whom victim() will name when room is wanted next, the likeliest first: what letting them go
  // will touch can be fetched from memory meanwhile. All are present; nothing else is promised, not even one.
  // Valid until the next call that changes anything.
  std::span<const Id> likely() { return size_ == 0 || named_ != kNoId ? std::span<const Id>{} : do_likely(); }

  // An entry that the policy would like to hear of, kNoId for none. An owner that tells of uses late asks
  // this once or twice per insert and touches what it is given if there is news. Others need not.
  Id curious() { return size_ == 0 ? kNoId : do_curious(); }

  // Requests known of, as Past::uses counts them. Policies that do not count say 1.
  std::uint32_t uses(Id id) const;
  // When it was used last, as far as the policy was told. Policies that do not mind say now().
  Tick last_use(Id id) const;

  // The tier's limits changed.
  void resize(Limits limits) {
    named_ = kNoId;
    do_resize(limits);
  }

  Tick now() const noexcept { return now_; }
  // Moves the clock on, for an owner that knows of requests which the policy was not told of, or that goes on
  // from where an earlier process stopped. Never back.
  void advance_to(Tick now) noexcept {
    named_ = kNoId;
    now_ = now > now_ ? now : now_;
  }

  std::size_t size() const noexcept { return size_; }
  bool contains(Id id) const noexcept { return id < state_.size() && state_[id] != State::absent; }
  bool is_pinned(Id id) const noexcept { return id < state_.size() && state_[id] == State::pinned; }

  // What it holds in memory, everything included.
  std::size_t memory_bytes() const noexcept { return state_.capacity() * sizeof(State) + do_memory_bytes(); }

 protected:
  std::size_t unpinned() const noexcept { return size_ - pinned_; }

 private:
  // Calls come checked: ids are as the owner guarantees, times are at most now().
  virtual void do_insert(Id id, const Entry& entry, Past past) = 0;
  virtual void do_touch(Id id, Touch touch) = 0;
  virtual void do_reweigh(Id id, std::uint64_t weight, std::uint64_t cost);
  virtual void do_remove(Id id, Departure departure) = 0;
  virtual void do_pin(Id id);
  virtual void do_unpin(Id id);
  // Called only where an unpinned entry is present.
  virtual Id do_victim() = 0;
  virtual std::span<const Id> do_likely();
  virtual Id do_curious();
  virtual std::uint32_t do_uses(Id id) const;
  virtual Tick do_last_use(Id id) const;
  virtual void do_resize(Limits limits);
  virtual std::size_t do_memory_bytes() const noexcept = 0;

  enum class State : std::uint8_t { absent, present, pinned };

  std::vector<State> state_;
  std::size_t size_ = 0;
  std::size_t pinned_ = 0;
  Tick now_ = 0;
  Id named_ = kNoId;  // what victim() said, until something changes
};

}  // namespace larder::policy
