// Fork handlers by floor: what must hold still while the process forks, and what the child starts afresh.
// A floor that keeps a process-wide lock registers here once; any thread may do so at any time.
//
// Before a fork the handlers run from the highest floor down, which is the order in which locks are taken, so
// that a thread which holds an upper lock and waits for a lower one can finish. After it they run upwards.
#pragma once

namespace larder {

struct ForkHandlers {
  void (*prepare)() noexcept;  // in the parent, before: take the locks
  void (*parent)() noexcept;   // in the parent, after: give them back
  void (*child)() noexcept;    // in the child: give them back, forget the threads that are gone
};

// `floor` is the floor's number in ARCHITECTURE.md. The same handlers given twice are registered once.
// At most 16 in all; must not be called from a handler.
void at_fork(int floor, const ForkHandlers& handlers) noexcept;

}  // namespace larder
