#include "base/epoch.hpp"

#include <pthread.h>
#if defined(__linux__)
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <new>

#include "base/assert.hpp"
#include "base/fork.hpp"

namespace larder {
namespace detail {

namespace {
constinit EpochRecord no_record{.pinned = ~std::uint64_t{0}};
}

// Alone on its line: every reader reads it.
alignas(128) constinit std::atomic<std::uint64_t> epoch_now{1};
constinit thread_local EpochRecord* t_epoch_record = &no_record;

}  // namespace detail

namespace {

using detail::epoch_now;
using detail::EpochRecord;
using detail::no_record;
using detail::t_epoch_record;

// Enough that most processes never allocate one, so that unloading the library leaves nothing behind.
constexpr std::size_t kStaticRecords = 64;

constinit EpochRecord static_records[kStaticRecords];
constinit std::atomic<std::size_t> static_records_used{0};
constinit std::atomic<EpochRecord*> records{nullptr};
constinit std::atomic<bool> has_membarrier{false};

// Of all threads that get no record of their own: never unpinned, and no count of pins is kept.
constinit EpochRecord shared_record{.nested = EpochRecord::kSlow};

pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_key_t exit_key;
// Not zero, so that the end of a process that never read finds it among what the loader has touched.
enum class ExitKey : int { unmade = 1, made = 2 };
ExitKey exit_key_state = ExitKey::unmade;

void full_barrier() noexcept {
#if defined(LARDER_EPOCH_ALWAYS_FENCED)
  epoch_now.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

bool register_for_membarrier() noexcept {
#if defined(LARDER_EPOCH_ALWAYS_FENCED) || !defined(__linux__)
  return false;
#else
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}

// Every thread of the process that runs passes a full barrier before this returns.
bool barrier_everywhere() noexcept {
#if defined(LARDER_EPOCH_ALWAYS_FENCED) || !defined(__linux__)
  return false;
#else
  return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
#endif
}

void list(EpochRecord& record) noexcept {
  record.taken.store(true, std::memory_order_relaxed);
  record.next = records.load(std::memory_order_relaxed);
  while (!records.compare_exchange_weak(record.next, &record, std::memory_order_acq_rel)) {
  }
}

void give_back(EpochRecord& record) noexcept {
  record.nested = 0;
  record.pinned.store(0, std::memory_order_release);
  record.taken.store(false, std::memory_order_release);
}

void at_thread_exit(void* record) noexcept {
  t_epoch_record = &no_record;
  give_back(*static_cast<EpochRecord*>(record));
}

void forget_other_threads() noexcept {
  for (EpochRecord* record = records.load(std::memory_order_relaxed); record != nullptr;
       record = record->next) {
    if (record != t_epoch_record && record != &shared_record && record->taken.load(std::memory_order_relaxed))
      give_back(*record);
  }
  if (has_membarrier.load(std::memory_order_relaxed)) register_for_membarrier();
}

// When another thread was here while the process forked, the child's first reader begins anew: the C library
// takes what it finds half done for not begun. So every step may be done twice, and no record is listed
// twice.
void begin() noexcept {
  at_fork(0, {.prepare = []() noexcept {}, .parent = []() noexcept {}, .child = forget_other_threads});
  has_membarrier.store(register_for_membarrier(), std::memory_order_relaxed);
  if (exit_key_state == ExitKey::unmade && pthread_key_create(&exit_key, at_thread_exit) == 0)
    exit_key_state = ExitKey::made;
  if (!shared_record.taken.load(std::memory_order_relaxed)) list(shared_record);
}

// A thread that outlives the library must not call into it when it ends.
[[gnu::destructor, gnu::cold]] void unload() noexcept {
  if (exit_key_state == ExitKey::made) pthread_key_delete(exit_key);
}

EpochRecord* reuse_record() noexcept {
  for (EpochRecord* record = records.load(std::memory_order_acquire); record != nullptr;
       record = record->next) {
    bool taken = false;
    if (record->taken.compare_exchange_strong(taken, true, std::memory_order_acq_rel)) return record;
  }
  return nullptr;
}

// Null: no memory.
EpochRecord* make_record() noexcept {
  const std::size_t place = static_records_used.load(std::memory_order_relaxed) < kStaticRecords
                                ? static_records_used.fetch_add(1, std::memory_order_relaxed)
                                : kStaticRecords;
  EpochRecord* const record =
      place < kStaticRecords ? &static_records[place] : new (std::nothrow) EpochRecord;
  if (record != nullptr) list(*record);
  return record;
}

EpochRecord& use_shared_record() noexcept {
  shared_record.pinned.exchange(1, std::memory_order_seq_cst);
  full_barrier();
  return shared_record;
}

// A record that nobody has pinned.
void use_fence(EpochRecord& record) noexcept {
  record.nested = EpochRecord::kSlow;
  record.pinned.store(EpochRecord::kFenced, std::memory_order_release);
}

EpochRecord& take_record() noexcept {
  pthread_once(&once, begin);
  EpochRecord* record = reuse_record();
  if (record == nullptr) record = make_record();
  if (record == nullptr) return use_shared_record();
  if (!has_membarrier.load(std::memory_order_relaxed)) use_fence(*record);
  // Without a key the record stays taken when the thread ends: memory, not safety.
  if (exit_key_state == ExitKey::made) pthread_setspecific(exit_key, record);
  t_epoch_record = record;
  return *record;
}

}  // namespace

EpochRecord& detail::pin_slowly(EpochRecord& known) noexcept {
  EpochRecord& record = &known == &no_record ? take_record() : known;
  if (&record == &shared_record) return record;
  const std::uint64_t pinned = record.pinned.load(std::memory_order_relaxed);
  if ((pinned & ~EpochRecord::kFenced) != 0) {
    ++record.nested;
    return record;
  }
  const std::uint64_t now = epoch_now.load(std::memory_order_acquire);
  record.pinned.exchange(pinned | now, std::memory_order_seq_cst);
  full_barrier();
  return record;
}

void detail::unpin_slowly(EpochRecord& record) noexcept {
  if (&record == &shared_record) return;
  if ((record.nested & ~EpochRecord::kSlow) != 0) {
    --record.nested;
  } else {
    record.pinned.store(EpochRecord::kFenced, std::memory_order_release);
  }
}

std::uint64_t oldest_reader() noexcept {
  std::uint64_t oldest = epoch_now.load(std::memory_order_seq_cst);  // before the barrier
  if (has_membarrier.load(std::memory_order_relaxed)) {
    // The kernel cannot refuse what it has registered; should it, nothing is freed.
    if (!barrier_everywhere()) return 0;
  } else {
    full_barrier();
  }
  for (EpochRecord* record = records.load(std::memory_order_acquire); record != nullptr;
       record = record->next) {
    const std::uint64_t pinned = record->pinned.load(std::memory_order_seq_cst) & ~EpochRecord::kFenced;
    if (pinned != 0 && pinned < oldest) oldest = pinned;
  }
  return oldest;
}

void drop_all(Retired* chain) noexcept {
  while (chain != nullptr) {
    Retired* const next = chain->next;
    chain->drop(chain);
    chain = next;
  }
}

void Bin::Queue::append(Queue& other) noexcept {
  if (other.first == nullptr) return;
  (last != nullptr ? last->next : first) = other.first;
  last = other.last;
  other = Queue{};
}

void Bin::retire(Retired& what, std::size_t bytes, void (*drop)(Retired*) noexcept) noexcept {
  what = Retired{nullptr, drop, 0, bytes};
  Queue one{&what, &what};
  open_.append(one);
  ++pending_;
  pending_bytes_ += bytes;
}

void Bin::close() noexcept {
  if (open_.first == nullptr) return;
  const std::uint64_t stamp = epoch_now.fetch_add(1, std::memory_order_seq_cst);  // I2
  for (Retired* each = open_.first; each != nullptr; each = each->next) each->stamp = stamp;
  closed_.append(open_);
}

Retired* Bin::take_ripe(std::uint64_t oldest) noexcept {
  Retired* const chain = closed_.first;
  Retired* last_ripe = nullptr;
  while (closed_.first != nullptr && closed_.first->stamp < oldest) {  // I4
    last_ripe = closed_.first;
    closed_.first = last_ripe->next;
    --pending_;
    pending_bytes_ -= last_ripe->bytes;
  }
  if (closed_.first == nullptr) closed_.last = nullptr;
  if (last_ripe == nullptr) return nullptr;
  last_ripe->next = nullptr;
  return chain;
}

void use_fences_for_epochs() noexcept {
  pthread_once(&once, begin);
  has_membarrier.store(false, std::memory_order_relaxed);
  for (EpochRecord* record = records.load(std::memory_order_acquire); record != nullptr;
       record = record->next) {
    if (record == t_epoch_record) use_fence(*record);
  }
}

}  // namespace larder
