// Upkeep keeps a store within its limits: it folds the journal into the shards' tables, lets the policy
// choose who leaves, removes them, sweeps what dead writers left, and compares tables with directories. One
// process at a time, behind a lock that the kernel drops; in steps of bounded length that go on where the
// last one stopped, whoever makes the next. Any thread may call.
//
// Invariants:
//   U1  Only entries and temporary files by the names of store/layout.hpp are removed, and only plain files.
//   U2  Whatever part of the index is missing or wrong, a step only costs time or hits: the entries are the
//       truth.
//   U3  A step looks at the clock after each removal and each shard, and ends when its time is over; but one
//       of them it does, however short its time is: steps always come to an end of what there is to do.
//   U4  The sums never know less than what is there: an entry is announced before it is published, what was
//       announced a moment ago counts although nobody can see it yet, and who publishes an announcement that
//       may have been taken for dead meanwhile announces it again. They may know more for a while: what a
//       writer announced that died, until it is chosen to leave.
//
// So the entries together exceed bytes_max by at most 1 % (eviction under way) and, for each process that
// writes, by what it may publish between two looks at the sums: bytes_max / 1024, at most 32 MiB. Not counted
// are an index that was removed or damaged, until the shards are counted again, and file systems where two
// machines do not see each other's changes.
#pragma once

#include <atomic>

#include "base/clock.hpp"
#include "store/index.hpp"
#include "store/store.hpp"
#include "store/sums.hpp"

namespace larder {

class Upkeep {
 public:
  // Both must live longer.
  Upkeep(Directory& directory, const StoreOptions& options) noexcept
      : directory_(directory), options_(options), index_(directory) {}

  // The store was made just now: nothing has to be counted.
  void begin_empty() noexcept;

  // An entry that is about to be published (U4). Then come make_room() and, by how it went, published() or
  // withdraw().
  struct Announcement {
    format::IndexRecord record;
    Journal::Place place;
  };
  Announcement announce(const Key& key, std::uint64_t bytes, Nanoseconds cost) noexcept;
  void published(const Announcement& announcement) noexcept;
  // It was not published, or somebody else's is there.
  void withdraw(const Announcement& announcement) noexcept;

  // News of an entry: one append each.
  void used(const Key& key, std::uint64_t bytes, Nanoseconds cost) noexcept;
  void gone(const Key& key, std::uint64_t bytes, Reason reason) noexcept;
  // News of an entry that there never was: why there is none. Sums stay as they are.
  void never_came(const Key& key, Reason reason) noexcept;

  // Whether an entry of `bytes` that was announced may be published now. Every so many bytes it looks at the
  // sums; where they exceed the cap it makes a step, or waits a moment for the process that is at one. none
  // or out_of_space.
  Reason make_room(std::uint64_t bytes) noexcept;

  UpkeepReport step(Nanoseconds at_most, bool everything) noexcept;
  StoreUsage usage() noexcept;
  std::optional<format::IndexRecord> find(const Key& key) noexcept { return index_.find(key); }

 private:
  struct Step;   // the state of one step
  struct Group;  // the entries that one round of eviction chooses from

  // Whether there is something to do besides making room.
  bool is_due(const Sums& sums) const noexcept;
  // How much must go of `kept` bytes, of which `incoming` have yet to be written.
  std::uint64_t needed(std::uint64_t kept, std::uint64_t incoming, double down_to) noexcept;
  UpkeepReport run(Nanoseconds at_most, bool everything, std::uint64_t incoming) noexcept;
  void step_in_turn(Step& step, bool everything, std::uint64_t incoming);
  void count_unknown(Step& step);
  void fold(Step& step);
  void forget_journal(Step& step);
  void apply(ShardTable& table, const format::IndexRecord& news);
  // `total`: what the entries take.
  void evict(Step& step, std::uint64_t total, std::uint64_t incoming);
  void gather(Step& step, Group& group, unsigned shards_left);
  std::uint64_t evict_from(Step& step, Group& group, std::uint64_t share);
  bool learns_of_use(const Step& step, format::IndexRecord& record) noexcept;
  // Whether a get() would refuse the entry for its age: the file decides, the index may be mistaken.
  bool is_expired(const Step& step, const format::IndexRecord& record);
  // Whether an entry that nobody can see may be one that is being published (U4).
  static bool may_be_on_its_way(const Step& step, const format::IndexRecord& record) noexcept;
  bool remove(Step& step, format::IndexRecord& record, Reason reason);
  void roll(Step& step, bool everything);
  void reconcile(Step& step, unsigned shard, ShardTable& table);
  void keep_table(Step& step, unsigned shard, ShardTable& table);

  Directory& directory_;
  const StoreOptions& options_;
  Index index_;
  std::atomic<std::uint64_t> unchecked_bytes_{0};
  std::atomic<unsigned> unchecked_puts_{0};
  std::atomic<bool> has_checked_{false};
  std::atomic<unsigned> everything_next_{0};  // how far this process has come in reconciling all shards
};

}  // namespace larder
