// How counting stays private to a thread: every set of counters has a number, every thread a table from that
// number to its own words. The registry's lock guards everything but the words themselves.
//   I1  A table is read without the lock by its own thread only. Its thread changes it under the lock; so
//   does
//       whoever destroys a set, when nobody counts in that set any more.
//   I2  Words are written by their own thread only, except in a forked child before it has other threads.
//   I3  Words are added to what departed before they are freed, and freed before their set's number is.
//   I4  Everything static is trivially destructible: nothing runs at exit or unload but the threads' own
//   ends.
#include "larder/counters.hpp"

#include <new>
#include <type_traits>

#include "base/fork.hpp"
#include "base/mutex.hpp"
#include "events/log_file.hpp"

namespace larder {
namespace detail {

constinit thread_local ThreadCounters t_counters LARDER_INITIAL_EXEC;

struct CounterSet {
  std::size_t number = 0;
  bool is_for_process = true;
  CounterTotals departed;  // of threads that ended, and what was counted without words
  CounterSet* next = nullptr;
};

}  // namespace detail

namespace {

using detail::CounterSet;
using detail::CounterWord;
using Slot = std::atomic<CounterWord*>;

constexpr std::align_val_t kLine{64};

struct Thread {
  Slot* slots = nullptr;
  std::size_t size = 0;
  Thread* next = nullptr;
  bool is_gone = false;  // it lived in the process that forked this one
};

struct Registry {
  Mutex mutex;
  CounterSet* sets GUARDED_BY(mutex) = nullptr;  // by number, ascending
  Thread* threads GUARDED_BY(mutex) = nullptr;
  CounterTotals departed GUARDED_BY(mutex);  // of sets that were destroyed
};

constinit Registry registry;
constinit std::atomic<std::uint64_t> last_serial{0};
static_assert(std::is_trivially_destructible_v<Registry>);  // I4

thread_local Thread* t_self LARDER_INITIAL_EXEC = nullptr;
thread_local bool t_has_ended LARDER_INITIAL_EXEC = false;

CounterWord* make_words() noexcept {
  constexpr std::size_t kBytes = CounterTotals::kWords * sizeof(CounterWord);
  void* const memory = ::operator new(kBytes, kLine, std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* const words = static_cast<CounterWord*>(memory);
  for (std::size_t i = 0; i < CounterTotals::kWords; ++i) ::new (words + i) CounterWord(0);
  return words;
}

void free_words(CounterWord* words) noexcept {
  ::operator delete(words, kLine);
}

void add_words(CounterTotals& totals, const CounterWord* words) noexcept {
  for (std::size_t i = 0; i < CounterTotals::kWords; ++i) {
    totals.words[i] += words[i].load(std::memory_order_relaxed);
  }
}

CounterWord* words_of(const Thread& thread, std::size_t number) noexcept {
  return number < thread.size ? thread.slots[number].load(std::memory_order_relaxed) : nullptr;
}

CounterTotals totals_of(const CounterSet& set) noexcept REQUIRES(registry.mutex) {
  CounterTotals totals = set.departed;
  for (const Thread* thread = registry.threads; thread != nullptr; thread = thread->next) {
    if (const CounterWord* words = words_of(*thread, set.number)) add_words(totals, words);
  }
  return totals;
}

// Unlinks and frees a thread, its words counted to their sets.  I3
void bury(Thread** link) noexcept REQUIRES(registry.mutex) {
  Thread* const thread = *link;
  *link = thread->next;
  for (CounterSet* set = registry.sets; set != nullptr; set = set->next) {
    CounterWord* const words = words_of(*thread, set->number);
    if (words == nullptr) continue;
    add_words(set->departed, words);
    free_words(words);
  }
  delete[] thread->slots;
  delete thread;
}

void bury_gone() noexcept REQUIRES(registry.mutex) {
  for (Thread** link = &registry.threads; *link != nullptr;) {
    if ((*link)->is_gone) {
      bury(link);
    } else {
      link = &(*link)->next;
    }
  }
}

// Its destructor runs when the thread that touched it ends; the C library keeps this code loaded until then.
struct ThreadEnd {
  bool is_armed = false;
  ~ThreadEnd() {
    MutexLock lock(registry.mutex);
    detail::t_counters = {};
    t_has_ended = true;
    for (Thread** link = &registry.threads; *link != nullptr; link = &(*link)->next) {
      if (*link != t_self) continue;
      bury(link);
      break;
    }
    t_self = nullptr;
  }
};
thread_local ThreadEnd t_end LARDER_INITIAL_EXEC;

// Makes room for `number` in the calling thread's table. False: out of memory.  I1
bool grow(Thread& thread, std::size_t number) noexcept REQUIRES(registry.mutex) {
  if (number < thread.size) return true;
  const std::size_t size = (number + 1) * 2;
  Slot* const slots = new (std::nothrow) Slot[size];
  if (slots == nullptr) return false;
  for (std::size_t i = 0; i < size; ++i) slots[i].store(words_of(thread, i), std::memory_order_relaxed);
  delete[] thread.slots;
  thread.slots = slots;
  thread.size = size;
  detail::t_counters.sets = slots;
  detail::t_counters.size = size;
  return true;
}

void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  registry.mutex.lock();
}
void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  registry.mutex.unlock();
}

// The child has counted nothing yet and has one thread. Frees nothing: handlers stay away from the heap.
void count_anew() noexcept NO_THREAD_SAFETY_ANALYSIS {
  registry.departed = {};
  for (CounterSet* set = registry.sets; set != nullptr; set = set->next) {
    set->departed = {};
    for (const Thread* thread = registry.threads; thread != nullptr; thread = thread->next) {
      CounterWord* const words = words_of(*thread, set->number);
      for (std::size_t i = 0; words != nullptr && i < CounterTotals::kWords; ++i) words[i] = 0;
    }
  }
  for (Thread* thread = registry.threads; thread != nullptr; thread = thread->next) {
    thread->is_gone = thread != t_self;
  }
  registry.mutex.unlock();
}

}  // namespace

Counters::Counters(bool for_process)
    : serial_(last_serial.fetch_add(1, std::memory_order_relaxed) + 1), set_(new CounterSet) {
  log_as_environment_says();
  at_fork(1, {before_fork, after_fork, count_anew});
  MutexLock lock(registry.mutex);
  bury_gone();
  CounterSet** link = &registry.sets;
  while (*link != nullptr && (*link)->number == number_) {
    ++number_;
    link = &(*link)->next;
  }
  set_->number = number_;
  set_->is_for_process = for_process;
  set_->next = *link;
  *link = set_;
}

Counters::~Counters() {
  MutexLock lock(registry.mutex);
  if (set_->is_for_process) registry.departed += totals_of(*set_);
  for (const Thread* thread = registry.threads; thread != nullptr; thread = thread->next) {
    if (CounterWord* const words = words_of(*thread, number_)) {
      thread->slots[number_].store(nullptr, std::memory_order_relaxed);
      free_words(words);
    }
  }
  CounterSet** link = &registry.sets;
  while (*link != set_) link = &(*link)->next;
  *link = set_->next;
  delete set_;
}

CounterWord* Counters::attach() noexcept {
  if (t_has_ended) return nullptr;
  t_end.is_armed = true;
  MutexLock lock(registry.mutex);
  bury_gone();
  if (t_self == nullptr) {
    t_self = new (std::nothrow) Thread;
    if (t_self == nullptr) return nullptr;
    t_self->next = registry.threads;
    registry.threads = t_self;
  }
  if (!grow(*t_self, number_)) return nullptr;
  CounterWord* const words = make_words();
  t_self->slots[number_].store(words, std::memory_order_relaxed);
  return words;
}

// What stands in front may be of a set that was destroyed: nobody else has its serial number.
void Counters::count_elsewhere(std::size_t place, std::uint64_t by, std::uint64_t saved) noexcept {
  detail::ThreadCounters& thread = detail::t_counters;
  CounterWord* words = number_ < thread.size ? thread.sets[number_].load(std::memory_order_relaxed) : nullptr;
  if (words == nullptr) words = attach();
  if (words != nullptr) {
    thread.last = serial_;
    thread.words = words;
    increase(words[place], by);
    if (saved != 0) increase(words[place + 1], saved);
    return;
  }
  MutexLock lock(registry.mutex);
  set_->departed.words[place] += by;
  if (saved != 0) set_->departed.words[place + 1] += saved;
}

CounterTotals Counters::totals() const noexcept {
  MutexLock lock(registry.mutex);
  return totals_of(*set_);
}

CounterTotals Counters::process_totals() noexcept {
  MutexLock lock(registry.mutex);
  CounterTotals totals = registry.departed;
  for (const CounterSet* set = registry.sets; set != nullptr; set = set->next) {
    if (set->is_for_process) totals += totals_of(*set);
  }
  return totals;
}

Nanoseconds CounterTotals::saved() const noexcept {
  Nanoseconds all{0};
  for (std::size_t outcome = 0; outcome < 16; ++outcome) all += saved(static_cast<Outcome>(outcome));
  return all;
}

std::uint64_t CounterTotals::requests() const noexcept {
  std::uint64_t all = 0;
  for (std::size_t outcome = 0; outcome < 16; ++outcome) all += (*this)[static_cast<Outcome>(outcome)];
  return all;
}

std::uint64_t CounterTotals::hits() const noexcept {
  using enum Outcome;
  return (*this)[memory_hit] + (*this)[disk_hit] + (*this)[bundle_hit] + (*this)[remote_hit] +
         (*this)[joined];
}

CounterTotals& CounterTotals::operator+=(const CounterTotals& other) noexcept {
  for (std::size_t i = 0; i < kWords; ++i) words[i] += other.words[i];
  return *this;
}

CounterTotals& CounterTotals::operator-=(const CounterTotals& earlier) noexcept {
  for (std::size_t i = 0; i < kWords; ++i) words[i] -= earlier.words[i];
  return *this;
}

}  // namespace larder
