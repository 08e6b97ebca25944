// The reader's half of epoch-based reclamation: while a thread is pinned, nothing that it could have reached
// since it pinned is freed. Pinning is two plain stores; the barrier is the writer's (base/epoch.hpp).
// Every thread pins through its own record. Not for signal handlers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "larder/export.h"

#if defined(__SANITIZE_THREAD__)
#define LARDER_EPOCH_ALWAYS_FENCED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LARDER_EPOCH_ALWAYS_FENCED 1
#endif
#endif

namespace larder::detail {

// Stands inside whatever can be retired, so that retiring allocates nothing.
struct Retired {
  Retired* next = nullptr;
  void (*drop)(Retired*) noexcept = nullptr;
  std::uint64_t stamp = 0;
  std::size_t bytes = 0;
};

// Written by its own thread, read by writers that look for the oldest reader; alone on its pair of lines.
//
// A thread whose pins must be taken slowly has a bit set in `pinned` and in `nested` even while it reads
// nothing, so that the fast path finds out by the two tests it makes anyway.
struct alignas(128) EpochRecord {
  static constexpr std::uint64_t kFenced = std::uint64_t{1} << 63;  // in `pinned`
  static constexpr std::uint32_t kSlow = 1u << 31;                  // in `nested`

  std::atomic<std::uint64_t> pinned{0};  // the epoch seen by the first of the pins that are open; 0: none is
  std::uint32_t nested = 0;              // pins open beyond the first; its own thread's alone
  std::atomic<bool> taken{false};        // belongs to a thread that lives
  EpochRecord* next = nullptr;           // fixed once the record is listed
};

LARDER_API extern constinit std::atomic<std::uint64_t> epoch_now;
// Of a thread that has not read yet: a record that nobody lists, and that seems pinned.
LARDER_API extern constinit thread_local EpochRecord* t_epoch_record
    __attribute__((tls_model("initial-exec")));

// The calling thread's first pin, or one of a thread that needs a fence. Without memory for a
// record of its own a thread gets one that is pinned for ever: nothing is freed too early, nor ever after.
LARDER_API EpochRecord& pin_slowly(EpochRecord& record) noexcept;
LARDER_API void unpin_slowly(EpochRecord& record) noexcept;

// Returns what unpin() wants back. Whichever pin of a thread ends last ends its reading, so they need not
// nest. What is read here only decides branches: a processor that guesses them right waits for none of it.
// The compiler is not told to keep later loads behind it: that is for behind_pin() or hold_loads_back() to
// say.
[[gnu::always_inline]] inline EpochRecord& pin() noexcept {
  EpochRecord& record = *t_epoch_record;
  const std::uint64_t pinned = record.pinned.load(std::memory_order_relaxed);
  if (pinned != 0) [[unlikely]] {
    if ((pinned & EpochRecord::kFenced) != 0) return pin_slowly(record);
    ++record.nested;
    return record;
  }
  const std::uint64_t now = epoch_now.load(std::memory_order_acquire);
#if defined(LARDER_EPOCH_ALWAYS_FENCED)
  record.pinned.exchange(now, std::memory_order_seq_cst);
#else
  record.pinned.store(now, std::memory_order_release);
#endif
  return record;
}

[[gnu::always_inline]] inline void unpin(EpochRecord& record) noexcept {
  if (record.nested != 0) [[unlikely]] {
    if ((record.nested & EpochRecord::kSlow) != 0) return unpin_slowly(record);
    --record.nested;
    return;
  }
  record.pinned.store(0, std::memory_order_release);
}

// Keeps the compiler from moving what is loaded after the call to before pin().
inline void hold_loads_back() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// The same for what is loaded through the pointer that this returns, which leaves the compiler everything
// else that it keeps in registers.
template <typename Shared>
[[gnu::always_inline]] inline Shared* behind_pin(Shared* shared, EpochRecord& record) noexcept {
#if defined(__GNUC__)
  asm volatile("" : "+r"(shared) : "m"(record.pinned));
#else
  hold_loads_back();
#endif
  return shared;
}

// Pins the calling thread while it lives.
class Pin {
 public:
  Pin() noexcept : record_(pin()) { hold_loads_back(); }
  ~Pin() { unpin(record_); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  EpochRecord& record_;
};

}  // namespace larder::detail
