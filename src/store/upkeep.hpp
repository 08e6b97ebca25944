// Upkeep keeps a store within its limits: it folds the journal into the shards' tables, lets the policy
// choose who leaves, removes them, sweeps what dead writers left, and compares tables with directories. One
// process at a time, behind a lock that the kernel drops; in steps of bounded length that go on where the
// last one stopped, whoever makes the next. Any thread may call.
//
// Invariants:
//   U1  Only entries and temporary files by the names of store/layout.hpp are removed, and only plain files.
//   U2  Whatever part of the index is missing or wrong, a step only costs time or hits: the entries are the
//   truth. U3  A step looks at the clock after each removal and each shard, and ends when its time is over.
#pragma once

#include <atomic>

#include "base/clock.hpp"
#include "store/index.hpp"
#include "store/store.hpp"

namespace larder {

class Upkeep {
 public:
  // Both must live longer.
  Upkeep(Directory& directory, const StoreOptions& options) noexcept
      : directory_(directory), options_(options), index_(directory) {}

  // The store was made just now: nothing has to be counted.
  void begin_empty() noexcept;

  // News of an entry: one append each.
  void stored(const Key& key, std::uint64_t bytes, Nanoseconds cost) noexcept;
  void used(const Key& key, std::uint64_t bytes, Nanoseconds cost) noexcept;
  void gone(const Key& key, std::uint64_t bytes, Reason reason) noexcept;

  // Whether an entry of `bytes` may be published now. Every so many bytes it looks at the sums and makes a
  // step. none or out_of_space.
  Reason make_room(std::uint64_t bytes) noexcept;

  UpkeepReport step(Nanoseconds at_most, bool everything) noexcept;
  StoreUsage usage() noexcept;
  std::optional<format::IndexRecord> find(const Key& key) noexcept { return index_.find(key); }

 private:
  struct Sums {
    std::uint64_t bytes = 0;
    std::uint64_t entries = 0;
    bool is_exact = false;
    bool is_due = false;  // there is something to do besides making room
  };
  struct Step;   // the state of one step
  struct Group;  // the entries that one round of eviction chooses from

  Sums sums() noexcept;
  // How much must go before `incoming` bytes fit.
  std::uint64_t needed(std::uint64_t kept, std::uint64_t incoming, double down_to) noexcept;
  UpkeepReport run(Nanoseconds at_most, bool everything, std::uint64_t incoming) noexcept;
  void count_unknown(Step& step);
  void fold(Step& step);
  void evict(Step& step, std::uint64_t incoming);
  void gather(Step& step, Group& group, unsigned shards_left);
  std::uint64_t evict_from(Step& step, Group& group, std::uint64_t share);
  bool learns_of_use(const Step& step, format::IndexRecord& record) noexcept;
  bool remove(Step& step, format::IndexRecord& record, Reason reason);
  void roll(Step& step, bool everything);
  void reconcile(Step& step, unsigned shard, ShardTable& table);
  void keep_table(Step& step, unsigned shard, ShardTable& table);

  Directory& directory_;
  const StoreOptions& options_;
  Index index_;
  std::atomic<std::uint64_t> unchecked_bytes_{0};
  std::atomic<bool> has_checked_{false};
  std::atomic<unsigned> everything_next_{0};  // how far this process has come in reconciling all shards
};

}  // namespace larder
