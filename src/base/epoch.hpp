// The writer's half of epoch-based reclamation: what was unlinked waits in a Bin until no reader can hold it.
//
// I1  A reader announces the epoch before it loads any shared pointer (detail::pin).
// I2  A writer unlinks, then moves the epoch on, and stamps what it unlinked with the epoch before
//     (Bin::close).
// I3  A writer that will free reads the epoch, has every running reader pass a barrier, and then reads their
//     announcements (oldest_reader).
// I4  Freed is only what bears a stamp older than that epoch and than every announced one (Bin::take_ripe).
//
// Why that is enough: what bears a stamp older than the epoch of I3 was unlinked before the barrier, whoever
// unlinked it. A reader that announced an epoch newer than the stamp read it after I2 moved it on, so it sees
// the unlinking. One whose announcement I3 does not see has not loaded anything yet, and will see the
// unlinking when it does. Everybody else has announced the stamp or an older epoch, and I4 waits for him.
// epoch_model_test.cpp walks through every interleaving of a small model of this.
//
// I3 is membarrier(2) where the kernel has it. Elsewhere, and under ThreadSanitizer, which knows no fences,
// readers pay for their own barrier. A reader that stays pinned delays what was retired after it pinned, and
// nothing else; the owner of a bin sees what waits (Bin::pending) and must stop retiring at some bound.
#pragma once

#include <cstddef>
#include <cstdint>

#include "larder/detail/epoch.hpp"

namespace larder {

using detail::Retired;

// The oldest epoch that a reader has announced; with no reader the one in which this was called, so that what
// another thread closes meanwhile is not taken for old. O(threads ever alive at once).
std::uint64_t oldest_reader() noexcept;

// Drops a chain that take_ripe() returned. Runs user code: hold no lock.
void drop_all(Retired* chain) noexcept;

// What one owner has retired, oldest first. The owner's lock guards it.
class Bin {
 public:
  // `what` must have been unlinked. `drop` is called once, on the thread that collects.
  void retire(Retired& what, std::size_t bytes, void (*drop)(Retired*) noexcept) noexcept;
  // Stamps what was retired since the last call.
  void close() noexcept;
  // Unlinks what no reader can hold, given the result of oldest_reader() called after close().
  Retired* take_ripe(std::uint64_t oldest) noexcept;

  std::size_t pending() const noexcept { return pending_; }
  std::size_t pending_bytes() const noexcept { return pending_bytes_; }

 private:
  struct Queue {
    Retired* first = nullptr;
    Retired* last = nullptr;
    void append(Queue& other) noexcept;
  };
  Queue open_;
  Queue closed_;
  std::size_t pending_ = 0;
  std::size_t pending_bytes_ = 0;
};

// For tests: makes this thread, threads that read for the first time after it, and writers use fences as if
// the kernel had no membarrier. Other threads must have read nothing yet, and nothing is pinned.
void use_fences_for_epochs() noexcept;

}  // namespace larder
