// All cores of the process in one list, for what concerns them all: forks, and shut tiers whose last garbage
// some reader still may see.
#include "base/fork.hpp"
#include "memory/core.hpp"
#include "memory/family.hpp"

namespace larder::detail {
namespace {

constexpr int kFloor = 2;

constinit Mutex cores_mutex;
constinit Core* cores = nullptr;

}  // namespace

struct Forks {
  static void enlist(Core& core) noexcept {
    MutexLock lock(cores_mutex);
    core.next_ = cores;
    if (cores != nullptr) cores->previous_ = &core;
    cores = &core;
  }

  static void strike(Core& core) noexcept {
    MutexLock lock(cores_mutex);
    (core.previous_ != nullptr ? core.previous_->next_ : cores) = core.next_;
    if (core.next_ != nullptr) core.next_->previous_ = core.previous_;
  }

  // The next core behind `core`, or the first, that is shut and has garbage; the caller is inside it.
  static Core* next_orphan(const Core* core) noexcept {
    MutexLock lock(cores_mutex);
    for (Core* each = core == nullptr ? cores : core->next_; each != nullptr; each = each->next_) {
      MutexLock core_lock(each->mutex_);
      if (!each->is_shut_ || each->is_finished_ || each->unreclaimed() == 0) continue;
      each->come_in();
      return each;
    }
    return nullptr;
  }

  static void hold_still() noexcept NO_THREAD_SAFETY_ANALYSIS {
    cores_mutex.lock();
    for (Core* core = cores; core != nullptr; core = core->next_) core->mutex_.lock();
    lock_families();
    lock_waits();
  }
  static void go_on() noexcept NO_THREAD_SAFETY_ANALYSIS {
    unlock_waits();
    unlock_families();
    for (Core* core = cores; core != nullptr; core = core->next_) core->mutex_.unlock();
    cores_mutex.unlock();
  }

  // The other threads are gone, and what they were making will not come: it counts as never begun.
  static void forget_other_threads() noexcept NO_THREAD_SAFETY_ANALYSIS {
    for (Core* core = cores; core != nullptr; core = core->next_) {
      Flight* next = nullptr;
      for (Flight* flight = core->flights_; flight != nullptr; flight = next) {
        next = flight->next;
        if (is_of_this_thread(*flight)) continue;
        core->forget(*flight);
        delete flight;
      }
    }
    go_on();
  }
};

void Core::enlist(Core& core) noexcept {
  at_fork(kFloor,
          {.prepare = Forks::hold_still, .parent = Forks::go_on, .child = Forks::forget_other_threads});
  Forks::enlist(core);
}

void Core::collect_orphans() noexcept {
  for (Core* core = Forks::next_orphan(nullptr); core != nullptr;) {
    Core* const next = Forks::next_orphan(core);
    core->go_out();
    core = next;
  }
}

void Core::strike(Core& core) noexcept {
  Forks::strike(core);
}

}  // namespace larder::detail
