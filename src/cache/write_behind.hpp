// WriteBehind writes products to the store on a thread of its own, so that nobody waits for the disk. Any
// thread may call. What it holds is bounded in bytes and can be read while it waits; a forked child starts
// with nothing.
//
//   I1  What drop() or clear saw is never written after they return, unless it was added afterwards.
//   I2  close() takes no longer than its deadline and the one write that is under way when it passes.
//   I3  Nothing runs after close(): no thread, no static destructor.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/fork_list.hpp"
#include "base/mutex.hpp"
#include "format/texts.hpp"
#include "larder/bytes.hpp"
#include "larder/event.hpp"
#include "larder/recipe.hpp"
#include "store/key_lock.hpp"

namespace larder {

// A product on its way to the disk.
struct PendingWrite {
  Recipe recipe;
  Key key;
  Bytes bytes;
  std::string log;
  std::vector<format::Text> texts;  // packed when they are written
  Nanoseconds cost{0};
  // Other processes may be waiting for it: it is written without delay and before all others, and the turn is
  // let go once it is.
  std::shared_ptr<const MakeTurn> turn{};
};

// A list: closing and dropping take what waits without asking for memory.
using PendingWrites = std::list<std::shared_ptr<const PendingWrite>>;

struct WriteBehindOptions {
  std::uint64_t bytes_max = 64u << 20;  // of waiting products; 0: every add() is refused
  std::chrono::nanoseconds delay =
      std::chrono::milliseconds(100);  // writing begins so long after the last add
  // Writes one. Called on the writing thread, without a lock; must not throw.
  std::function<void(const PendingWrite&)> write;
  // Called on the writing thread when it runs out of work, and after remind(); must not throw.
  std::function<void()> idle;
  std::chrono::nanoseconds remind_first = std::chrono::seconds(1);
  std::chrono::nanoseconds remind_max = std::chrono::seconds(10);
};

class WriteBehind {
 public:
  explicit WriteBehind(WriteBehindOptions options);
  // As close(0).
  ~WriteBehind();
  WriteBehind(const WriteBehind&) = delete;
  WriteBehind& operator=(const WriteBehind&) = delete;

  // False: no room, no thread to be had, or closed; the caller writes it himself. The same recipe already
  // waiting is true and keeps the first.
  bool add(PendingWrite write);
  // `idle` is called soon, if the process lives so long: the first time after remind_first, then after twice
  // as long each time, up to remind_max. Cheap when it will be anyway: one load.
  void remind() noexcept {
    if (!is_reminded_.load(std::memory_order_relaxed)) begin_reminder();
  }
  // What waits or is being written under this recipe.
  std::optional<PendingWrite> find(const Recipe& recipe, const Key& key) const;
  // Forgets what waits and matches; waits for the write under way when that matches. The number forgotten.
  std::size_t drop(const std::function<bool(const PendingWrite&)>& matches);

  // True when nothing waits any more; false when `deadline` passed.
  bool flush(std::chrono::nanoseconds deadline);
  // What was not written when `deadline` passed, the oldest first; nobody will write it.
  PendingWrites close(std::chrono::nanoseconds deadline) noexcept;

  std::uint64_t pending_entries() const;
  std::uint64_t pending_bytes() const;

 private:
  friend class ForkList<WriteBehind, 3>;

  void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS;
  void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS;
  void in_child() noexcept NO_THREAD_SAFETY_ANALYSIS;
  void run();
  bool start() REQUIRES(mutex_);
  bool is_awaited() const REQUIRES(mutex_);
  void begin_reminder() noexcept;
  bool is_reminder_due() const REQUIRES(mutex_);
  // Sleeps until work comes, a reminder is due, or closing began.
  void wait_for_work() REQUIRES(mutex_);
  std::shared_ptr<const PendingWrite> next_write() EXCLUDES(mutex_);
  bool is_at_rest() const REQUIRES(mutex_) { return waiting_.empty() && writing_ == nullptr; }

  const WriteBehindOptions options_;
  mutable Mutex mutex_;
  mutable Condition changed_;  // work came, a write ended, or closing began
  PendingWrites waiting_ GUARDED_BY(mutex_);
  std::shared_ptr<const PendingWrite> writing_ GUARDED_BY(mutex_);
  std::uint64_t bytes_ GUARDED_BY(mutex_) = 0;  // of waiting_ and writing_
  std::chrono::nanoseconds last_added_ GUARDED_BY(mutex_){0};
  bool hurries_ GUARDED_BY(mutex_) = false;  // somebody flushes: no delay
  bool closing_ GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_reminded_{false};  // written under mutex_
  std::chrono::nanoseconds remind_at_ GUARDED_BY(mutex_){0};
  std::chrono::nanoseconds remind_after_ GUARDED_BY(mutex_);
  // A pointer, because a forked child must forget the thread without ending it.
  std::unique_ptr<std::thread> thread_ GUARDED_BY(mutex_);

  ForkList<WriteBehind, 3>::Place fork_place_{*this};
};

}  // namespace larder
