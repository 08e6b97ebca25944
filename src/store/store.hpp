// A Store keeps products in a directory that many processes share: one immutable file per entry, no server,
// no database. Any thread may call any function of one Store; forked children may go on using it.
//
// What every function keeps:
//   I1  A hit is exactly the bytes that were put for exactly this recipe; anything less is a miss.
//   I2  No failure leaves here but as a Reason; nothing throws; nothing waits for another process without a
//   bound. I3  An entry is published whole and never changed afterwards. I4  No descriptor stays open beyond
//   a call but the few that open() made. I5  Nothing whose name is not in store/layout.hpp is changed or
//   removed. I6  What another user could have written is not used: root, shards and entries are the user's
//   own, no symlinks.
// What it does on its own (evicted, damaged, warning) it tells the event stream, on the calling thread.
// Crashes lose at most what was not published; a torn entry after a power cut fails its checksum and is a
// miss.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/file_system.hpp"
#include "base/hot.hpp"
#include "larder/bytes.hpp"
#include "larder/counters.hpp"
#include "larder/event.hpp"
#include "larder/recipe.hpp"
#include "larder/result.hpp"
#include "policy/kind.hpp"
#include "store/key_lock.hpp"
#include "store/layout.hpp"
#include "store/notes.hpp"

namespace larder {

struct StoreOptions {
  std::string root;                                  // absolute; made (0700) when it does not exist
  bool read_only = false;                            // serve hits, change nothing
  bool durable = false;                              // wait for the medium before an entry is published
  std::uint64_t bytes_max = std::uint64_t{8} << 30;  // of all entries together; 0: no limit
  std::chrono::nanoseconds age_max = std::chrono::hours(7 * 24);  // since last use; 0: no limit
  std::uint64_t entry_bytes_min = 0;                              // smaller products are not kept
  std::uint64_t entry_bytes_max = std::uint64_t{1} << 30;         // larger ones neither; 0: no limit
  std::uint64_t free_bytes_min = std::uint64_t{256} << 20;        // left on the disk; 0: no limit
  bool evicts = true;                                             // false: what is full refuses instead
  double low_water = 0.95;  // eviction ends at this share of bytes_max; 0.5 evicts to half
  std::chrono::nanoseconds touch_after = std::chrono::hours(1);  // how fine "last use" is
  // For upkeep within a put; what is under way then is ended, which takes as long again at the worst.
  std::chrono::nanoseconds step_max = std::chrono::microseconds(700);
  unsigned removals_per_second = 256;  // damaged entries put aside; 0: no limit
  std::string lock_directory;          // for KeyLock; empty: the per-user run-time directory
  Nanoseconds wait_min = std::chrono::milliseconds(200);  // bounds of waiting for another process's making
  Nanoseconds wait_max = std::chrono::seconds(60);
  FileSystem* files = &FileSystem::posix();
  const Clock* clock = &Clock::system();
  policy::Kind policy = policy::Kind::sampled;  // who leaves when it is full
  Counters* counters = nullptr;                 // counts stored, evicted, damaged and warnings when given
};

struct Entry {
  Bytes product;
  std::string_view log;  // both views live as long as `product`
  BytesView attachment;
  Nanoseconds cost{0};
  std::int64_t made_at_unix_ns = 0;
};

struct Lookup {
  Reason reason = Reason::absent;  // none: a hit
  Entry entry;
  explicit operator bool() const noexcept { return reason == Reason::none; }
};

struct GetOptions {
  // True: a large product on a local file system may be shown as a private mapping of the file instead of a
  // copy. Never for bytes that will be run as code: who can write the file could change or cut them after the
  // check.
  bool may_map = false;
  // True: neither is the time of the last use written down, nor an entry that is too old removed.
  bool read_only = false;
};

// What is kept beside the product. Views are read during the call only.
struct PutOptions {
  Nanoseconds cost{0};               // what making took; steers eviction
  std::string_view log;              // cut at 1 MiB
  BytesView attachment;              // for `show` and `why`, say; left out above 64 MiB
  std::int64_t made_at_unix_ns = 0;  // 0: now
};

enum class PutState : std::uint8_t { stored, already_there, not_kept };

struct PutResult {
  PutState state = PutState::not_kept;
  Reason reason = Reason::none;  // why not_kept
  // An entry for the key is in the store.
  explicit operator bool() const noexcept { return state != PutState::not_kept; }
};

// What an entry says of itself without its product.
struct EntryInfo {
  Key key;
  std::string recipe;  // canonical bytes
  std::string log;
  std::string attachment;
  Nanoseconds cost{0};
  std::int64_t made_at_unix_ns = 0;
  std::int64_t used_at_unix_ns = 0;  // to within touch_after
  std::uint64_t product_bytes = 0;
  std::uint64_t file_bytes = 0;
};

class Directory;
class Upkeep;

// What upkeep did or found; numbers of one call.
struct UpkeepReport {
  bool is_done = false;   // false: there is more to do, call again
  bool was_busy = false;  // another process is at it; nothing was done
  std::uint64_t evicted_entries = 0;
  std::uint64_t evicted_bytes = 0;
  Nanoseconds evicted_cost{0};      // what making the evicted had taken
  std::uint64_t swept_files = 0;    // left behind by writers that died
  std::uint64_t stuck_entries = 0;  // had to go, but the operating system did not let them
  bool was_refused = false;         // nothing was done: read-only, or the lock file cannot be written
};

struct StoreUsage {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
  bool is_exact = false;  // false: the index is being rebuilt, or others are writing
};

class Store {
 public:
  // Opens or makes the directory. Errors: refused (not ours alone, with what to do), io. On an error the
  // caller goes on without a store; a warning event has been sent.
  LARDER_HOT static Result<std::unique_ptr<Store>> open(StoreOptions options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // The product of `recipe`, checked, or why there is none: absent, expired, truncated, corrupt,
  // other_recipe, other_version, unreadable, untrusted, out_of_resources. Damage also sends an event and puts
  // the entry aside. A miss costs one system call, and what comes after a miss two if it is there. `key` is
  // recipe.key(); tests give another to force a collision.
  LARDER_HOT Lookup get(const Recipe& recipe, const Key& key, GetOptions how = {}) noexcept;
  Lookup get(const Recipe& recipe, GetOptions how = {}) noexcept { return get(recipe, recipe.key(), how); }

  // Keeps `product`. not_kept with too_small, too_large, out_of_space, unwritable, read_only,
  // out_of_resources or untrusted. One system call when an entry is there already, which is then left as it
  // is.
  PutResult put(const Recipe& recipe, const Key& key, BytesView product,
                const PutOptions& with = {}) noexcept;
  PutResult put(const Recipe& recipe, BytesView product, const PutOptions& with = {}) noexcept {
    return put(recipe, recipe.key(), product, with);
  }

  // One system call; looks at the name only.
  bool contains(const Key& key) const noexcept;
  // True when the entry was there and is gone. `why` is what a later absence() will say.
  bool erase(const Key& key, Reason why = Reason::cleared) noexcept;
  // Why there is no entry for `key`, as far as is remembered: evicted, expired, cleared, corrupt or absent.
  // Reads the index: some 20 microseconds.
  Reason absence(const Key& key) const noexcept;
  // What absence() is to say of a product that never got as far as put().
  void remember_absence(const Key& key, Reason why) noexcept;

  // Waits for its turn to make the product of `key`: see store/key_lock.hpp. `expected` is what making is
  // thought to take; 0 looks it up in the index.
  MakeTurn wait_for_turn(const Key& key, Nanoseconds expected = Nanoseconds{0}) const noexcept;

  // Calls `visit` for every entry's key, shard by shard, in no order within one; stops when it returns false.
  void for_each_key(const std::function<bool(const Key&)>& visit) const;
  // The same for one shard, below layout::kShardCount. False: stopped.
  bool for_each_key(unsigned shard, const std::function<bool(const Key&)>& visit) const;
  // What kept the last for_each_key() from names of this shard, as errno: what lies in there is unknown then.
  // 0: nothing did.
  int listing_error(unsigned shard) const noexcept;
  // The entry's head, checked, without reading the product. none or as get().
  Reason inspect(const Key& key, EntryInfo& info) const noexcept;
  // As inspect, but in one read for most entries: log and attachment stay empty, and where they make the head
  // long only the recipe is checked. On a failure size and last use are filled if the file could be opened.
  Reason glance(const Key& key, EntryInfo& info) const noexcept;
  // As inspect, and reads and checks the product too, piece by piece. Changes nothing.
  Reason verify(const Key& key, EntryInfo& info) const noexcept;
  // As verify; what is truncated or corrupt is put aside. True in `is_gone`: it was, or somebody else did.
  Reason verify_and_remove(const Key& key, EntryInfo& info, bool& is_gone) noexcept;
  // Removes the last damaged entries that were put aside.
  void forget_damaged() noexcept;

  // One bounded step of eviction, index folding and sweeping; puts do this by themselves. With `everything`
  // also reconciles each shard's index with its directory, which a later call continues where this one
  // stopped.
  UpkeepReport upkeep(Nanoseconds at_most, bool everything = false) noexcept;
  StoreUsage usage() const noexcept;

  // The notes beside the entries. Valid as long as this store.
  Notes notes() const noexcept { return Notes(*directory_, options_.read_only); }

  const StoreOptions& options() const noexcept { return options_; }

 private:
  LARDER_HOT explicit Store(StoreOptions options);
  Reason verify(const Key& key, EntryInfo& info, struct stat& seen) const noexcept;
  // Removes the entry if it still is the file that was seen.
  bool remove(const Key& key, const struct stat& seen) noexcept;
  bool put_aside(const Key& key, const struct stat& seen) noexcept;
  void damaged(const Key& key, const struct stat& seen, Reason reason) noexcept;
  void touch(const Key& key, int fd, std::uint64_t file_bytes, Nanoseconds cost) noexcept;
  void send(EventKind kind, Reason reason, const Key& key, std::uint64_t bytes,
            std::string_view detail) noexcept;
  void warn_once(Reason reason, std::string_view detail) noexcept;
  bool may_remove() noexcept;

  StoreOptions options_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<Upkeep> upkeep_;
  std::atomic<bool> has_warned_{false};
  std::atomic<bool> missed_last_{false};
  std::atomic<bool> lacks_no_replace_{false};
  std::atomic<std::uint64_t> next_temporary_{0};
  std::atomic<std::int64_t> removal_second_{0};
  std::atomic<unsigned> removals_{0};
  mutable std::array<std::atomic<std::uint8_t>, layout::kShardCount> listing_errors_{};  // as errno
};

}  // namespace larder
