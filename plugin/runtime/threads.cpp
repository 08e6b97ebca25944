#include "threads.hpp"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <new>

#include "profile.hpp"
#include "strategies.hpp"

extern "C" void* __libc_stack_end;  // NOLINT: glibc's name

namespace larder::reuse {

constexpr uint64_t kBytesMax = 256u << 20;
constexpr uint64_t kChunk = 64 << 10;
constexpr int kDestructorCalls = 3;  // every system makes four; sanitizers end their threads in the last
constexpr uint64_t kStackOfMain = 64 << 20;  // taken for an unlimited one

struct Thread {
  Thread* next;  // of all threads
  Thread** link;
  Table* tables;
  char* chunk;  // pieces are cut off its front; its first word leads to the chunk before
  char* piece;
  int busy;
  int last_calls;  // of the key's destructor
  bool is_listed;
  bool is_over;
  uint64_t stack_low;  // 0: not looked for yet; 1: not known
  uint64_t stack_top;
};

namespace {

thread_local Thread thread_state;

uint64_t in_use;
uint64_t allowed;  // 0: not yet asked for
pthread_key_t end_key;
pthread_once_t start_once = PTHREAD_ONCE_INIT;
bool has_key;
int list_lock;
Thread* all_threads;
thread_local uint64_t signals_before;  // the mask of the thread that holds the lock

// Whose pure function calls us expects errno to be as it was.
class KeptErrno {
 public:
  KeptErrno() noexcept : value_(errno) {}
  ~KeptErrno() { errno = value_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  const int value_;
};

// A signal handler that interrupts the holder may fork, jump out of it or end the thread: so there is none
// meanwhile, not even that of pthread_cancel(), which the C library would let through.
void lock() noexcept {
  const uint64_t all = ~uint64_t{0};
  uint64_t before = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof all);
  while (__atomic_exchange_n(&list_lock, 1, __ATOMIC_ACQUIRE) != 0) sched_yield();
  signals_before = before;
}
void unlock() noexcept {
  const uint64_t before = signals_before;
  __atomic_store_n(&list_lock, 0, __ATOMIC_RELEASE);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, sizeof before);
}

// What Linux 6.11 and later answer about one mapping, where older ones have to be read all.
struct MapQuery {
  uint64_t size, flags, address, start, end, protection, rest[7];
};
constexpr unsigned long kMapQuery = 0xc0686611;  // PROCMAP_QUERY
constexpr uint64_t kAnyAccess = 7;

struct Mapping {
  uint64_t start, end;
  bool is_guarded;  // below it are pages that nobody may touch
};

// False: this kernel does not answer.
bool ask_for_mapping(int file, uint64_t address, Mapping& mapping) noexcept {
  MapQuery query{};
  query.size = sizeof query;
  query.address = address;
  if (syscall(SYS_ioctl, file, kMapQuery, &query) != 0) return false;
  mapping = {query.start, query.end, false};
  query = {};
  query.size = sizeof query;
  query.address = mapping.start - 1;
  mapping.is_guarded =
      syscall(SYS_ioctl, file, kMapQuery, &query) == 0 && (query.protection & kAnyAccess) == 0;
  return true;
}

// False: it is not there.
bool read_mapping(int file, uint64_t address, Mapping& mapping) noexcept {
  char text[4096];
  uint64_t numbers[2] = {0, 0};
  uint64_t guard_end = 0;  // of the last mapping without any access
  int field = 0;           // 0 and 1: the addresses of a line; 2: what is allowed; 3: the rest of it
  for (;;) {
    const ssize_t size = syscall(SYS_read, file, text, sizeof text);
    if (size <= 0) return false;
    for (ssize_t at = 0; at < size; ++at) {
      const char c = text[at];
      if (c == '\n') {
        field = 0;
        numbers[0] = numbers[1] = 0;
      } else if (field == 0 && c == '-') {
        field = 1;
      } else if (field == 1 && c == ' ') {
        field = 2;
        if (numbers[0] <= address && address < numbers[1]) {
          mapping = {numbers[0], numbers[1], guard_end == numbers[0]};
          return true;
        }
        guard_end = numbers[1];
      } else if (field == 2) {
        if (c == 'r' || c == 'w' || c == 'x') guard_end = 0;
        if (c == ' ') field = 3;
      } else if (field < 2) {
        numbers[field] = numbers[field] * 16 + static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      }
    }
  }
}

// The pages that hold both the frame at `here` and the thread's control block are the stack that glibc made
// for it, if they stand on a guard: a stack that the program brought along may begin anywhere within its
// pages. pthread_getattr_np() knows as well, but allocates, which a signal handler must not; and no call here
// is one at which a thread may be cancelled.
void find_stack(Thread& thread, uint64_t here) noexcept {
  const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC));
  if (file < 0) return;
  const auto self = static_cast<uint64_t>(pthread_self());
  Mapping mapping{};
  if ((ask_for_mapping(file, here, mapping) || read_mapping(file, here, mapping)) && mapping.is_guarded &&
      self >= here && self < mapping.end) {
    thread.stack_low = mapping.start;
    thread.stack_top = self;
  }
  syscall(SYS_close, file);
}

void close(Place& place) noexcept {
  place.slots = nullptr;
  place.countdown = INT64_MAX;
  place.table = nullptr;
}

void free_tables(Thread& thread) noexcept {
  for (Table* table = thread.tables; table != nullptr; table = table->next) {
    if (table->vector != nullptr) free_vector(*table);
    // The slots that were outgrown are chained through their last words.
    for (uint64_t* slots = table->slots; slots != nullptr;) {
      const uint64_t entries = uint64_t{1} << table->log2;
      const uint64_t words = entries * (table->site->key_words + table->site->value_words);
      auto* before = reinterpret_cast<uint64_t*>(slots[words]);
      if (is_large(words * 8 + 16)) give_pages(slots, words * 8 + 16);
      table->log2 -= 2;
      slots = before;
    }
    if (table->ghosts != nullptr && is_large((table->ghosts_mask + 1) * 4))
      give_pages(table->ghosts, (table->ghosts_mask + 1) * 4);
  }
  thread.tables = nullptr;
  while (thread.chunk != nullptr) {
    auto* before = *reinterpret_cast<char**>(thread.chunk);
    give_pages(thread.chunk, kChunk);
    thread.chunk = before;
  }
}

void unlist(Thread& thread) noexcept {
  *thread.link = thread.next;
  if (thread.next != nullptr) thread.next->link = thread.link;
}

// Leaves places behind that say off for ever.
void end_tables(Thread& thread) noexcept {
  lock();
  for (Table* table = thread.tables; table != nullptr; table = table->next) {
    if (table->place == nullptr) continue;
    if (table->counts != nullptr) merge_counts(*table);
    close(*table->place);
  }
  unlist(thread);
  unlock();
  thread.is_over = true;
  free_tables(thread);
}

// Other destructors of the thread may still call memoized functions: it goes last.
void end_thread(void* of) {
  auto& thread = *static_cast<Thread*>(of);
  if (++thread.last_calls < kDestructorCalls && pthread_setspecific(end_key, of) == 0) return;
  thread.busy = 1;
  end_tables(thread);
  thread.busy = 0;
}

void before_fork() {
  ++thread_state.busy;
  lock();
}
void after_fork() {
  unlock();
  --thread_state.busy;
}
// Only the thread that forked lives on: what the others had is of no use to anyone.
void after_fork_in_child() {
  for (Thread* thread = all_threads; thread != nullptr;) {
    Thread* next = thread->next;
    if (thread != &thread_state) {
      free_tables(*thread);
      unlist(*thread);
    }
    thread = next;
  }
  // What was counted before is the parent's to write down.
  for (Table* table = thread_state.tables; table != nullptr; table = table->next)
    if (table->counts != nullptr) begin_counts(*table);
  drop_merged_counts();
  after_fork();
}

// At load already, so that a program's first call need not pay for it; a constructor that memoizes may come
// before.
void start() {
  has_key = pthread_key_create(&end_key, end_thread) == 0;
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

__attribute__((constructor)) void start_early() {
  pthread_once(&start_once, start);
}

// The library itself is being unloaded, or the process ends: its destructor must not be called any more. The
// tables of this thread go now; at a process's end other threads may still be at work with theirs.
__attribute__((destructor)) void stop() {
  if (has_key) pthread_key_delete(end_key);
  has_key = false;
  if (!thread_state.is_listed || thread_state.is_over || thread_state.busy != 0) return;
  thread_state.busy = 1;
  end_tables(thread_state);
  thread_state.busy = 0;
}

}  // namespace

const char* value_of(const char* variable) noexcept {
  const size_t size = __builtin_strlen(variable);
  for (char** one = environ; one != nullptr && *one != nullptr; ++one) {
    size_t at = 0;
    while (at < size && (*one)[at] == variable[at]) ++at;
    if (at == size && (*one)[at] == '=') return *one + at + 1;
  }
  return nullptr;
}

uint64_t number_of(const char* variable, uint64_t otherwise) noexcept {
  const KeptErrno kept;
  const char* text = value_of(variable);
  if (text == nullptr || *text < '0' || *text > '9') return otherwise;
  char* end = nullptr;
  const uint64_t number = strtoull(text, &end, 10);
  switch (*end) {
    case 'K':
      return number << 10;
    case 'M':
      return number << 20;
    case 'G':
      return number << 30;
    case '\0':
      return number;
    default:
      return otherwise;
  }
}

uint64_t bytes_in_use() noexcept {
  return __atomic_load_n(&in_use, __ATOMIC_RELAXED);
}

uint64_t bytes_max() noexcept {
  uint64_t most = __atomic_load_n(&allowed, __ATOMIC_RELAXED);
  if (most == 0) {
    most = number_of("LARDER_REUSE_BYTES_MAX", kBytesMax) + 1;  // 0 is a cap as well
    __atomic_store_n(&allowed, most, __ATOMIC_RELAXED);
  }
  return most - 1;
}

void* take_pages(uint64_t bytes) noexcept {
  bytes = (bytes + 4095) & ~uint64_t{4095};
  if (__atomic_add_fetch(&in_use, bytes, __ATOMIC_RELAXED) > bytes_max()) {
    __atomic_sub_fetch(&in_use, bytes, __ATOMIC_RELAXED);
    return nullptr;
  }
  const KeptErrno kept;
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages != MAP_FAILED) return pages;
  __atomic_sub_fetch(&in_use, bytes, __ATOMIC_RELAXED);
  return nullptr;
}

void give_pages(void* pages, uint64_t bytes) noexcept {
  bytes = (bytes + 4095) & ~uint64_t{4095};
  munmap(pages, bytes);
  __atomic_sub_fetch(&in_use, bytes, __ATOMIC_RELAXED);
}

void* take_piece(Thread& thread, uint64_t bytes) noexcept {
  if (is_large(bytes)) return take_pages(bytes);
  bytes = (bytes + 63) & ~uint64_t{63};
  if (thread.chunk == nullptr || thread.piece + bytes > thread.chunk + kChunk) {
    auto* chunk = static_cast<char*>(take_pages(kChunk));
    if (chunk == nullptr) return nullptr;
    *reinterpret_cast<char**>(chunk) = thread.chunk;
    thread.chunk = chunk;
    thread.piece = chunk + 64;
  }
  void* piece = thread.piece;
  thread.piece += bytes;
  return piece;
}

Thread& this_thread() noexcept {
  return thread_state;
}

Entered::Entered(Thread& thread) noexcept : was_free(thread.busy == 0), thread_(thread) {
  ++thread_.busy;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
Entered::~Entered() {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  --thread_.busy;
}

Table* make_table(Thread& thread, Place& place, const Site& site) noexcept {
  if (thread.is_over) return nullptr;
  if (!thread.is_listed) {
    pthread_once(&start_once, start);
    if (!has_key || pthread_setspecific(end_key, &thread) != 0) return nullptr;
    lock();
    thread.next = all_threads;
    thread.link = &all_threads;
    if (thread.next != nullptr) thread.next->link = &thread.next;
    all_threads = &thread;
    unlock();
    thread.is_listed = true;
  }
  void* piece = take_piece(thread, sizeof(Table));
  if (piece == nullptr) return nullptr;
  auto* table = new (piece) Table();
  table->site = &site;
  table->place = &place;
  // First, since what a linear recursion's look does is to leave no room for frames that memoize.
  if ((site.flags & (LARDER_REUSE_TREE | LARDER_REUSE_LINEAR | LARDER_REUSE_REENTERED)) != 0)
    measure_stack(thread, place);
  else
    place.stack_span = UINT64_MAX;
  if (!prepare(*table, place)) return nullptr;
  lock();
  table->next = thread.tables;
  thread.tables = table;
  unlock();
  return table;
}

void measure_stack(Thread& thread, Place& place) noexcept {
  const KeptErrno kept;
  const auto here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  if (thread.stack_low == 0) {
    thread.stack_low = 1;
    if (getpid() == syscall(SYS_gettid)) {
      rlimit most{};
      const auto top = reinterpret_cast<uint64_t>(__libc_stack_end);
      if (getrlimit(RLIMIT_STACK, &most) == 0) {
        const uint64_t size = most.rlim_cur == RLIM_INFINITY ? kStackOfMain : most.rlim_cur;
        if (top > size) thread.stack_low = top - size;
        thread.stack_top = top;
      }
    } else {
      find_stack(thread, here);
    }
  }
  // A stack that is neither (a coroutine's, a signal's): nobody knows its size. A few frames are all we take.
  const bool is_known = thread.stack_low < here && here < thread.stack_top;
  const uint64_t left = is_known ? here - thread.stack_low : uint64_t{64} << 10;
  place.stack_floor = here - left / 8;
  place.stack_span = is_known ? thread.stack_top - place.stack_floor : left / 4;
}

}  // namespace larder::reuse

using larder::reuse::Thread;

extern "C" void larder_reuse_forget(const larder_reuse_site* site) {
  using namespace larder::reuse;
  const Entered entered(this_thread());
  lock();
  for (Thread* thread = all_threads; thread != nullptr; thread = thread->next)
    for (Table* table = thread->tables; table != nullptr; table = table->next)
      if (table->site == site && table->place != nullptr) {
        if (table->counts != nullptr) merge_counts(*table);
        // What this thread calls from now on works without; others may be at work with theirs.
        if (thread == &this_thread()) close(*table->place);
        table->place = nullptr;
      }
  write_profile(site);
  unlock();
}

extern "C" void larder_reuse_clear() {
  using namespace larder::reuse;
  Thread& thread = this_thread();
  const Entered entered(thread);
  if (!entered.was_free) return;
  lock();  // a module that is being unloaded takes its places along
  for (Table* table = thread.tables; table != nullptr; table = table->next)
    if (table->place != nullptr) clear(*table, *table->place);
  unlock();
}

extern "C" void larder_reuse_read_totals(larder_reuse_totals* totals) {
  using namespace larder::reuse;
  const Entered entered(this_thread());
  *totals = {0, bytes_in_use(), bytes_max()};
  lock();
  for (Thread* thread = all_threads; thread != nullptr; thread = thread->next)
    for (Table* table = thread->tables; table != nullptr; table = table->next) ++totals->tables;
  unlock();
}
