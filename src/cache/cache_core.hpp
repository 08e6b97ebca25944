// CacheCore is what stands behind a Cache: the tiers in their order and the way of a request through them.
// Any thread may call.
//
// A request goes: memory (single flight of this process) → writes that wait → disk → bundles → the turn among
// processes → disk again → the maker. cache_core.cpp opens and closes, request.cpp is that way, clear.cpp
// removes, noting.cpp writes down what happened and reads ahead by it.
//
//   I1  A product reaches the disk only if nothing that selects its recipe was cleared since its request
//   began. I2  No lock of larder's is held while the maker runs, but the process's turn for this key.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fork_list.hpp"
#include "base/mutex.hpp"
#include "cache/bundles.hpp"
#include "cache/misses.hpp"
#include "cache/negatives.hpp"
#include "cache/preload.hpp"
#include "cache/refusals.hpp"
#include "cache/start_order.hpp"
#include "cache/write_behind.hpp"
#include "events/histogram_set.hpp"
#include "larder/cache.hpp"
#include "larder/memory.hpp"
#include "settings/settings.hpp"
#include "store/store.hpp"

namespace larder {

class Selected;

// A product as the memory tier keeps it.
struct Kept {
  Kept(Bytes product, std::string makers_log, Nanoseconds making_cost)
      : bytes(std::move(product)), log(std::move(makers_log)), cost(making_cost) {}
  Kept(Kept&& other) noexcept : bytes(std::move(other.bytes)), log(std::move(other.log)), cost(other.cost) {}

  Bytes bytes;
  std::string log;
  Nanoseconds cost;
  std::atomic<bool> is_used{false};  // by a request; false: only preloaded so far
};

class CacheCore {
 public:
  explicit CacheCore(settings::Settings settings);
  ~CacheCore();

  Result<Product> request(const Recipe& recipe, detail::AnyMaker maker, const Request& how);
  std::optional<Product> get(const Recipe& recipe, const Request& how);
  bool put(const Recipe& recipe, Bytes bytes, const Origin& origin);
  // What the tiers below memory have, without counting it as a request.
  std::optional<Product> look(const Recipe& recipe);
  // put() of what somebody had to make for want of it: counted as a request that made it, never explained.
  bool put_made(const Recipe& recipe, Bytes bytes, Nanoseconds cost);
  // Puts what `change` makes of what is kept (null: nothing) in its place; nothing: all stays as it is.
  // Processes take turns, as far as a held turn is worth waiting for. Not counted as a request that missed.
  bool update(const Recipe& recipe, const std::function<std::optional<Made>(const Product*)>& change);
  bool remove(const Recipe& recipe, Reason why);
  Cleared clear(const Selector& selector);
  bool flush(std::chrono::nanoseconds deadline);
  void close(std::chrono::nanoseconds deadline);
  bool preload(std::function<bool(const Recipe&)> fits);
  PreloadReport preloaded() const;
  bool wait_for_preload(std::chrono::nanoseconds deadline) const;
  CacheStats stats() const;

  std::vector<std::string> problems() const {
    const MutexLock lock(notes_mutex_);
    return problems_;
  }
  std::chrono::nanoseconds close_time() const noexcept { return *settings_.values.close_time; }

 private:
  // One request on its way. Filled by the thread that leads; the others learn what they need from the memory
  // tier.
  struct Attempt {
    const Recipe& recipe;
    Key key;
    const Request& how;
    Mode mode = Mode::normal;
    std::uint64_t clearings = 0;  // I1
    Outcome outcome = Outcome::made;
    Reason reason = Reason::absent;
    bool led = false;
    std::shared_ptr<const MakeTurn> turn{};  // held until the product is on disk
  };

  void open_disk();
  void open_bundles();
  void open_log();
  void problem(std::string text, Reason reason, Tier tier = Tier::none);
  Mode mode_of(const Request& how) const noexcept;

  // The steps of a request, in their order.
  Result<Kept> lead(Attempt& attempt, detail::AnyMaker maker);
  std::optional<Kept> find_below(Attempt& attempt);
  std::optional<Kept> find_in_bundles(Attempt& attempt);
  // refused and the like, else absent.
  Reason why_taken_out(const Key& key) const;
  Result<Kept> make(Attempt& attempt, detail::AnyMaker maker);
  Result<Product> make_aside(Attempt& attempt, detail::AnyMaker maker, Reason reason);
  Result<Product> find_only(Attempt& attempt);
  void verify(Attempt& attempt, detail::AnyMaker maker, Product& product);
  bool keep(const Attempt& attempt, const Kept& kept, std::span<const Text> texts);
  void forget_notes(const Selector& selector, const Selected& selected);
  // What waits to be written and what is on disk; true when there was any.
  bool forget_on_disk(const Recipe& recipe, const Key& key, Reason why);
  void write(const PendingWrite& write) noexcept;
  // That processes may make the same product at once: said once.
  void tell_no_turns() noexcept;
  // One warning for each cause until a product is stored again.
  void tell_unkept(const PendingWrite& write, Reason reason) noexcept;
  // Of products that close() had no time for.
  void tell_lost(const PendingWrites& lost) noexcept;
  // Writes down what was counted, missed and used first since the last call.
  void take_notes() noexcept;
  // Has it done within seconds, so that a process that is killed, or never closes, loses no more than those.
  void note_soon() noexcept {
    if (!takes_notes_) return;
    if (puts_notes_off_.load(std::memory_order_relaxed))
      has_notes_.store(true, std::memory_order_relaxed);
    else
      writes_->remind();
  }
  friend class LateNotes;
  friend class ForkList<CacheCore, 3>;
  void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS;
  void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS;
  void in_child() noexcept NO_THREAD_SAFETY_ANALYSIS;
  void miss(const Attempt& attempt);
  void tell(const Attempt& attempt, const Product& product, Nanoseconds duration) noexcept;
  void tell_failure(const Attempt& attempt, const Error& error, Nanoseconds duration) noexcept;

  const settings::Settings settings_;
  const Clock& clock_ = Clock::system();
  Mode mode_ = Mode::normal;
  bool is_disabled_ = false;
  std::atomic<bool> is_closed_{false};
  // Counts calls of clear() and remove(): a product whose making began before one of them is not kept.
  std::atomic<std::uint64_t> clearings_{0};

  Counters counters_;
  MemoryTier<Kept> memory_;
  Negatives negatives_;
  std::unique_ptr<Store> store_;
  Bundles bundles_;
  Refusals refusals_;
  std::unique_ptr<HistogramSet> histograms_ = std::make_unique<HistogramSet>();

  mutable Mutex notes_mutex_;
  std::vector<std::string> problems_ GUARDED_BY(notes_mutex_);
  CounterTotals noted_totals_ GUARDED_BY(notes_mutex_);
  std::unique_ptr<HistogramSet> noted_histograms_ GUARDED_BY(notes_mutex_);  // null: nothing was
  std::vector<Miss> misses_ GUARDED_BY(notes_mutex_);
  StartOrder order_;

  // These use the store and end before it.
  mutable Mutex preload_mutex_;
  std::shared_ptr<Preload> preload_ GUARDED_BY(preload_mutex_);
  std::unique_ptr<WriteBehind> writes_;   // there when the store is
  std::atomic<bool> lacks_turns_{false};  // told
  std::atomic<std::uint64_t> unkept_{0};  // the causes, a bit each, that were told since a product was stored
  // Guests say when: a thread that is started for it must not stand between a host and its answer.
  std::atomic<bool> puts_notes_off_{false};
  std::atomic<bool> has_notes_{false};  // since they were put off
  bool takes_notes_ = false;            // what is counted here can be written down

  ForkList<CacheCore, 3>::Place fork_place_{*this};
};

}  // namespace larder
