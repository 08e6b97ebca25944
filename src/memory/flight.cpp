#include "memory/flight.hpp"

namespace larder::detail {
namespace {

constinit Mutex waits_mutex;
constinit thread_local Worker t_worker;

}  // namespace

Worker& this_worker() noexcept {
  return t_worker;
}

void begin_flight(Flight& flight) noexcept NO_THREAD_SAFETY_ANALYSIS {
  flight.maker = &t_worker;
}

void end_flight(Flight& flight, FlightState state) noexcept {
  // Nobody but the maker has it: nobody waits, nobody walks here, and nobody can join any more.
  if (flight.references.load(std::memory_order_acquire) == 1) {
    flight.state.store(state, std::memory_order_relaxed);
    return;
  }
  {
    MutexLock lock(waits_mutex);
    flight.maker = nullptr;
  }
  flight.state.store(state, std::memory_order_release);
  flight.state.notify_all();
}

bool wait_for(Flight& flight) noexcept {
  {
    MutexLock lock(waits_mutex);
    for (const Flight* each = &flight; each != nullptr && each->maker != nullptr;
         each = each->maker->waits_for) {
      if (each->maker == &t_worker) return false;
    }
    t_worker.waits_for = &flight;
  }
  while (flight.state.load(std::memory_order_acquire) == FlightState::in_progress) {
    flight.state.wait(FlightState::in_progress, std::memory_order_acquire);
  }
  MutexLock lock(waits_mutex);
  t_worker.waits_for = nullptr;
  return true;
}

void release(Flight* flight) noexcept {
  if (flight->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete flight;
}

bool is_of_this_thread(const Flight& flight) noexcept {
  return flight.maker == &t_worker;
}

void lock_waits() noexcept NO_THREAD_SAFETY_ANALYSIS {
  waits_mutex.lock();
}
void unlock_waits() noexcept NO_THREAD_SAFETY_ANALYSIS {
  waits_mutex.unlock();
}

}  // namespace larder::detail
