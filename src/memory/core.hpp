// Core is one memory tier without its types: recipes, products, accounts, makings in progress.
// Any thread may call it. User code (makers, destructors, listeners) runs with no lock held.
//
// Locks: cores_mutex (all cores, for forks) > a core's mutex > links_mutex (family.cpp), waits_mutex
// (flight.cpp).
//
// I1  A slot shows a product (value, object) exactly while its record is kept, and the tier holds that
// object. I2  A product that left is let go only after every reader who could have seen it has gone: it
// passes the bin. I3  A record stays in the table while it is kept, claimed, or known to an object; then it
// passes the bin of the records, or, if it was never shown, is freed at once. I4  What counts against
// bytes_max: the budget's bytes (products with their records) and idle_bytes_ (records
//     that are claimed and have no product).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/epoch.hpp"
#include "base/mutex.hpp"
#include "larder/memory.hpp"
#include "memory/flight.hpp"
#include "memory/record.hpp"
#include "memory/slots.hpp"
#include "memory/table.hpp"
#include "policy/budget.hpp"

namespace larder::detail {

class Core final : public MemoryCore {
 public:
  Core(const MemoryOptions& options, const TypeFacts& facts);

  // What a change of the tier leaves to be done without its lock: children in other tiers to evict, events to
  // tell. Its owner is pinned, so that records stay.
  struct Aftermath {
    struct Departed {
      const Record* record;
      std::uint64_t weight;
      std::uint64_t cost_ns;
      Reason reason;
    };
    Record* doomed = nullptr;
    Reason reason = Reason::evicted;
    std::vector<Departed> departed;  // filled only when somebody listens
  };

  // making.cpp: requests.
  Product answer(const Request& request);

  // core.cpp: recipes, claims, objects, memory.
  Slot* intern_recipe(const Recipe& recipe);
  void drop_last_claim(Record& record) noexcept;
  // An object of the record's that nobody holds any more; no record: none.
  struct Gone {
    Record* record = nullptr;
    bool was_at_home = false;
  };
  static Gone destroy(ObjectHead& object) noexcept;
  void object_is_gone(Record& record, bool was_at_home) noexcept;
  // The caller is pinned.
  Record* find_record(Key key, std::string_view canonical) const noexcept {
    return table_.find(key, canonical);
  }
  void shut() noexcept;
  // Frees what no reader can see any more. Runs user code.
  void collect() noexcept;
  const TypeFacts& facts() const noexcept { return facts_; }
  bool has(const Slot* slot) const noexcept { return slot != nullptr && &slot->record->core == this; }
  static Key key_of(const Recipe& recipe) noexcept;

  // keeping.cpp: who stays and who leaves.
  bool erase_product(Record* record, const Recipe* recipe) noexcept;  // by one of the two
  void evict_child(Record& record, Aftermath& after) noexcept;
  bool pin_product(Record& record, bool pinned) noexcept;
  void clear_all(Reason reason) noexcept;
  void shrink(Pressure pressure) noexcept;
  MemoryStats read_stats() const noexcept;

  // forks.cpp
  static void enlist(Core& core) noexcept;
  static void strike(Core& core) noexcept;
  void collect_own() noexcept;
  // What shut tiers could not free when they were shut.
  static void collect_orphans() noexcept;

 private:
  friend struct Forks;
  ~Core();

  // making.cpp
  struct Entrance;
  struct Landing;
  bool find_hit(const Recipe& recipe, Key key, Product& product, Answer& answer) noexcept;
  Entrance enter(const Request& request, Key key);
  Product make(Flight& flight, const Request& request, Answer& answer);
  Product join(Flight& flight, Answer& answer);
  void leave_flight(Flight& flight) noexcept;
  Product land(Flight& flight, Making& making, const MakeOptions& options, Answer& answer);
  void crash(Flight& flight, FlightState state, Reason reason) noexcept;
  void forget(Flight& flight) noexcept REQUIRES(mutex_);
  void tell(const Request& request, Key key, const Product& product, const Answer& answer,
            std::int64_t begin_ns) noexcept;

  // core.cpp
  Record& find_or_add(const Recipe& recipe, Key key) REQUIRES(mutex_);
  std::uint64_t overhead(const Record& record) const noexcept;
  void settle(Record& record) noexcept REQUIRES(mutex_);
  void forget_object(const Gone& gone) noexcept REQUIRES(mutex_);
  void drop(Retired* ripe) noexcept;
  // The same for what no user code goes with, so that handles may be dropped anywhere.
  void sweep() noexcept;
  bool wants_sweeping() const noexcept REQUIRES(mutex_);
  bool wants_collecting() const noexcept REQUIRES(mutex_);
  std::size_t crowd() const noexcept REQUIRES(mutex_);
  std::size_t unreclaimed() const noexcept REQUIRES(mutex_) { return bin_.pending() + record_bin_.pending(); }
  std::uint64_t unreclaimed_bytes() const noexcept REQUIRES(mutex_) {
    return bin_.pending_bytes() + record_bin_.pending_bytes();
  }
  static void drop_record(Retired* record) noexcept;
  // True: nothing is left of a tier that was shut; the caller, having unlocked, deletes it.
  bool is_finished() noexcept REQUIRES(mutex_);
  void come_in() noexcept REQUIRES(mutex_) { ++inside_; }
  void go_out() noexcept EXCLUDES(mutex_);

  // keeping.cpp
  Reason keep(Record& record, Making& making, std::uint64_t cost_ns, const MakeOptions& options,
              Aftermath& after) REQUIRES(mutex_);
  bool take_second_look(policy::Id id) REQUIRES(mutex_);
  void tell_the_curious() noexcept REQUIRES(mutex_);
  void make_room(policy::Room needed, Aftermath& after) noexcept REQUIRES(mutex_);
  void leave(Record& record, Reason reason, Aftermath& after) noexcept REQUIRES(mutex_);
  Record* take_product(Record& record, Reason reason, Aftermath& after) noexcept REQUIRES(mutex_);
  void fetch_likely_victims() noexcept REQUIRES(mutex_);
  void move_stamp() noexcept REQUIRES(mutex_);
  void settle_aftermath(Aftermath& after) noexcept EXCLUDES(mutex_);
  // What take_product() retired: what giving up the tier's hold on it ends.
  static Gone let_product_go(Retired& retired) noexcept;

  const TypeFacts facts_;
  const std::uint64_t bytes_max_;
  const std::size_t count_max_;
  const std::uint32_t retries_max_;

  // Behind what hits read.
  alignas(64) mutable Mutex mutex_;
  RecipeTable table_;  // written under the mutex
  Slots slots_ GUARDED_BY(mutex_);
  policy::Budget budget_ GUARDED_BY(mutex_);
  // Whose product it is; nulls: the id is free.
  struct Resident {
    Record* record = nullptr;
    Slot* slot = nullptr;
  };
  std::vector<Resident> by_id_ GUARDED_BY(mutex_);
  std::vector<policy::Id> free_ids_ GUARDED_BY(mutex_);
  Bin bin_ GUARDED_BY(mutex_);         // products
  Bin record_bin_ GUARDED_BY(mutex_);  // records that readers knew, and arrays of the table
  struct Left {
    std::size_t pending = 0;
    std::uint64_t bytes = 0;
  };
  Left swept_ GUARDED_BY(mutex_);  // what sweeping last left in record_bin_
  Flight* flights_ GUARDED_BY(mutex_) = nullptr;
  std::uint64_t idle_bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t since_stamp_ GUARDED_BY(mutex_) = 0;
  std::uint32_t inside_ GUARDED_BY(mutex_) = 0;  // threads that will still touch this core
  bool is_shut_ GUARDED_BY(mutex_) = false;
  bool is_finished_ GUARDED_BY(mutex_) = false;

  Core* next_ = nullptr;  // among all cores; cores_mutex guards it
  Core* previous_ = nullptr;
};

}  // namespace larder::detail
