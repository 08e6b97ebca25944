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
struct alignas(128) EpochRecord {
  std::atomic<std::uint64_t> pinned{0};  // the epoch seen when pinning; 0: not reading
  std::atomic<std::uint32_t> depth{0};   // guards open on this thread; its own thread's alone
  bool fenced = true;                    // writers have no barrier of their own: this side must order itself
  std::atomic<bool> taken{false};        // belongs to a thread that lives
  EpochRecord* next = nullptr;           // fixed once the record is listed
};

LARDER_API extern constinit std::atomic<std::uint64_t> epoch_now;
LARDER_API extern constinit thread_local EpochRecord* t_epoch_record
    __attribute__((tls_model("initial-exec")));

// Gives the calling thread a record. Without memory for one it is a record that is pinned for ever: nothing
// is freed too early, nor ever after.
LARDER_API EpochRecord& take_epoch_record() noexcept;

inline EpochRecord& epoch_record() noexcept {
  if (EpochRecord* record = t_epoch_record) [[likely]]
    return *record;
  return take_epoch_record();
}

inline void pin(EpochRecord& record) noexcept {
  const std::uint32_t depth = record.depth.load(std::memory_order_relaxed);
  record.depth.store(depth + 1, std::memory_order_relaxed);
  if (depth != 0) return;
  const std::uint64_t now = epoch_now.load(std::memory_order_acquire);
#if defined(LARDER_EPOCH_ALWAYS_FENCED)
  record.pinned.exchange(now, std::memory_order_seq_cst);
#else
  record.pinned.store(now, std::memory_order_release);
  if (record.fenced) [[unlikely]] {
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

inline void unpin(EpochRecord& record) noexcept {
  const std::uint32_t depth = record.depth.load(std::memory_order_relaxed) - 1;
  record.depth.store(depth, std::memory_order_relaxed);
  if (depth == 0) record.pinned.store(0, std::memory_order_release);
}

// Pins the calling thread while it lives; nests.
class Pin {
 public:
  Pin() noexcept : record_(epoch_record()) { pin(record_); }
  ~Pin() { unpin(record_); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  EpochRecord& record_;
};

}  // namespace larder::detail
