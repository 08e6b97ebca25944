// A Flight is one making in progress: who makes, who waits, what came of it.
//
// in_progress --> succeeded   the waiters hold the object
//             --> failed      the waiters get the error or the exception
//             --> vanished    no result, for now: the waiters ask again (transient failures; makers that
//             ended
//                             without a word)
//
// Who waits for whom is one graph over the whole process, because makers may ask any tier. It is walked
// before every wait: nobody waits for himself, not by way of any number of makers and threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include "base/mutex.hpp"
#include "larder/detail/memory_core.hpp"
#include "memory/record.hpp"

namespace larder::detail {

struct Flight;

// A thread that makes or waits.
struct Worker {
  Flight* waits_for = nullptr;    // waits_mutex guards it
  std::int64_t elsewhere_ns = 0;  // of the time since the present maker began: spent on products of their own
};
Worker& this_worker() noexcept;

enum class FlightState : std::uint32_t { in_progress, succeeded, failed, vanished };

struct Flight {
  std::atomic<FlightState> state{FlightState::in_progress};
  std::atomic<std::uint32_t> references{1};
  Worker* maker = nullptr;   // until it is over; waits_mutex guards it
  Record* record = nullptr;  // until it is over: the flight has a claim
  // The core's mutex guards these.
  std::uint32_t joined = 0;  // who waits
  bool has_home = false;     // the slot's home is kept free for the product
  Flight* next = nullptr;    // among the core's flights
  Flight* previous = nullptr;

  // Written before the state leaves in_progress, read after.
  ObjectHead* object = nullptr;  // each who joined holds it
  void* value = nullptr;
  std::uint64_t weight = 0;
  std::uint64_t cost_ns = 0;
  Reason reason = Reason::none;
  Error error{};
  std::exception_ptr exception;
};

// The calling thread makes. Before anybody else can see the flight.
void begin_flight(Flight& flight) noexcept;
// Wakes all who wait. When nobody can join any more.
void end_flight(Flight& flight, FlightState state) noexcept;
// False, at once: waiting would never end.
bool wait_for(Flight& flight) noexcept;
void release(Flight* flight) noexcept;

// The maker did not survive a fork, nor did anybody who waited.
bool is_of_this_thread(const Flight& flight) noexcept;

// For the fork handlers.
void lock_waits() noexcept;
void unlock_waits() noexcept;

}  // namespace larder::detail
