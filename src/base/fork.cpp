#include "base/fork.hpp"

#include <pthread.h>

#include <cstddef>

#include "base/assert.hpp"
#include "base/mutex.hpp"

namespace larder {
namespace {

constexpr std::size_t kEntriesMax = 16;

struct Entry {
  int floor;
  ForkHandlers handlers;
};

struct Table {
  Mutex mutex;
  Entry entries[kEntriesMax] GUARDED_BY(mutex) = {};  // lowest floor first
  std::size_t size GUARDED_BY(mutex) = 0;
};

constinit Table table;

// The table's own lock is held across the fork, so that the handlers that run after are those that ran
// before.
void prepare() NO_THREAD_SAFETY_ANALYSIS {
  table.mutex.lock();
  for (std::size_t i = table.size; i > 0; --i) table.entries[i - 1].handlers.prepare();
}

void parent() NO_THREAD_SAFETY_ANALYSIS {
  for (std::size_t i = 0; i < table.size; ++i) table.entries[i].handlers.parent();
  table.mutex.unlock();
}

void child() NO_THREAD_SAFETY_ANALYSIS {
  for (std::size_t i = 0; i < table.size; ++i) table.entries[i].handlers.child();
  table.mutex.unlock();
}

}  // namespace

void at_fork(int floor, const ForkHandlers& handlers) noexcept {
  MutexLock lock(table.mutex);
  std::size_t place = 0;
  for (std::size_t i = 0; i < table.size; ++i) {
    if (table.entries[i].handlers.prepare == handlers.prepare) return;
    if (table.entries[i].floor <= floor) place = i + 1;
  }
  LARDER_ASSERT(table.size < kEntriesMax);
  // The system forgets these handlers itself when the library is unloaded.
  if (table.size == 0) LARDER_ASSERT(pthread_atfork(prepare, parent, child) == 0);
  for (std::size_t i = table.size; i > place; --i) table.entries[i] = table.entries[i - 1];
  table.entries[place] = Entry{floor, handlers};
  ++table.size;
}

}  // namespace larder
