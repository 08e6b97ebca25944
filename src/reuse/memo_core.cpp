// Tables of memos by thread. A core owns the tables of its memo; a thread knows the cores in which it has
// one, to take its tables away when it ends. One process-wide lock guards both directions; it is taken when a
// thread meets a memo for the first time, when either ends, and for statistics.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "larder/detail/memo_thread.hpp"

namespace larder::detail {

MemoTableBase::~MemoTableBase() = default;
MemoCore::~MemoCore() = default;

namespace {

class Core;

// No destructor: threads may end after static objects have gone.
struct Registry {
  Mutex mutex;
  std::vector<std::size_t> free_numbers GUARDED_BY(mutex);
  std::size_t next_number GUARDED_BY(mutex) = 0;
  std::uint64_t next_serial GUARDED_BY(mutex) = 1;
};

Registry& registry() noexcept;

void lock_registry() noexcept NO_THREAD_SAFETY_ANALYSIS {
  registry().mutex.lock();
}
void unlock_registry() noexcept NO_THREAD_SAFETY_ANALYSIS {
  registry().mutex.unlock();
}

Registry& registry() noexcept {
  static Registry* const only = [] {
    alignas(Registry) static std::byte place[sizeof(Registry)];  // never destroyed, so never too late
    auto* made = ::new (static_cast<void*>(place)) Registry;
    at_fork(4, {lock_registry, unlock_registry, unlock_registry});
    return made;
  }();
  return *only;
}

class Core final : public MemoCore, public std::enable_shared_from_this<Core> {
 public:
  Core() {
    MutexLock lock(registry().mutex);
    serial_ = registry().next_serial++;
    if (registry().free_numbers.empty()) {
      number_ = registry().next_number++;
    } else {
      number_ = registry().free_numbers.back();
      registry().free_numbers.pop_back();
    }
  }
  void close() noexcept override;
  MemoTableBase* enter(MemoThread& thread, std::unique_ptr<MemoTableBase> (*make)(std::size_t),
                       std::size_t entries_max) noexcept override;
  MemoSums sums() const override {
    MutexLock lock(registry().mutex);
    MemoSums result = past_;
    for (const Owned& owned : tables_) {
      result.hits += owned.table->hits();
      result.misses += owned.table->misses();
      result.entries += owned.table->entries();
      ++result.threads;
    }
    return result;
  }
  void forget() noexcept override {
    MutexLock lock(registry().mutex);
    for (const Owned& owned : tables_) owned.table->forget();
  }
  // The thread ends.
  void drop(const MemoThread& thread) noexcept {
    std::unique_ptr<MemoTableBase> dropped;  // destroyed without the lock: its values are the user's
    MutexLock lock(registry().mutex);
    for (Owned& owned : tables_) {
      if (owned.thread != &thread) continue;
      past_.hits += owned.table->hits();
      past_.misses += owned.table->misses();
      dropped = std::move(owned.table);
      std::swap(owned, tables_.back());
      tables_.pop_back();
      break;
    }
  }

 private:
  struct Owned {
    const MemoThread* thread;
    std::unique_ptr<MemoTableBase> table;
  };
  std::vector<Owned> tables_ GUARDED_BY(registry().mutex);
  MemoSums past_ GUARDED_BY(registry().mutex);
};

// The thread's side: its destructor runs when the thread ends.
class Leaving {
 public:
  ~Leaving() {
    for (const Entry& entry : entries_) {
      MemoThread& thread = *entry.thread;
      thread.is_over = true;
      thread.count = 0;
      delete[] std::exchange(thread.places, nullptr);
      if (const std::shared_ptr<Core> core = entry.core.lock()) core->drop(thread);
    }
  }
  // Throws std::bad_alloc.
  void add(MemoThread& thread, const std::shared_ptr<Core>& core) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.core.expired(); });
    entries_.push_back({&thread, core});
  }

 private:
  // Each module that hides its symbols has a MemoThread of its own.
  struct Entry {
    MemoThread* thread;
    std::weak_ptr<Core> core;
  };
  std::vector<Entry> entries_;
};

void make_room(MemoThread& thread, std::size_t number) {
  if (number < thread.count) return;
  const std::size_t count = std::max<std::size_t>(16, std::max(number + 1, thread.count * 2));
  auto* const places = new MemoPlace[count];
  std::copy(thread.places, thread.places + thread.count, places);
  delete[] std::exchange(thread.places, places);
  thread.count = count;
}

void Core::close() noexcept {
  std::vector<Owned> tables;
  MutexLock lock(registry().mutex);
  tables.swap(tables_);
  try {
    registry().free_numbers.push_back(number_);
  } catch (const std::bad_alloc&) {  // the number is not used again
  }
}

MemoTableBase* Core::enter(MemoThread& thread, std::unique_ptr<MemoTableBase> (*make)(std::size_t),
                           std::size_t entries_max) noexcept {
  if (thread.is_over) return nullptr;
  try {
    static thread_local Leaving leaving;
    make_room(thread, number_);
    std::unique_ptr<MemoTableBase> table = make(entries_max);
    MemoTableBase* const made = table.get();
    leaving.add(thread, shared_from_this());
    {
      MutexLock lock(registry().mutex);
      tables_.push_back({&thread, std::move(table)});
    }
    thread.places[number_] = {serial_, made};
    return made;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace

std::shared_ptr<MemoCore> MemoCore::open() {
  return std::make_shared<Core>();
}

}  // namespace larder::detail
