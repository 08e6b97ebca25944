// How listeners come and go without a lock. Each has a place; a place's state is one word:
//   low 32 bits  how many threads are inside it just now
//   kLive        there is a listener that may be called
//   kEnding      it must not be called any more
//   kOrphaned    nobody waits for its end: whoever leaves last frees it
// free -> (subscribe) kLive -> (reset) kEnding [| kOrphaned] -> (nobody inside) free.
// A thread enters by counting itself first and then looks at what it found, so a listener whose state was
// seen as kLive cannot be freed before that thread has left. A thread that finds anything else leaves without
// touching it.
#include "larder/events.hpp"

#include <pthread.h>

#include <bit>
#include <string>
#include <type_traits>

#include "base/clock.hpp"
#include "base/fork.hpp"

namespace larder {
namespace detail {

constinit std::atomic<std::uint64_t> listeners{0};

}  // namespace detail

namespace {

constexpr std::uint64_t kInside = 0xffff'ffff;
constexpr std::uint64_t kLive = std::uint64_t{1} << 32;
constexpr std::uint64_t kEnding = std::uint64_t{1} << 33;
constexpr std::uint64_t kOrphaned = std::uint64_t{1} << 34;

struct alignas(64) Place {
  std::atomic<std::uint64_t> state{0};
  Listener* listener = nullptr;
};

constinit Place places[kListenersMax];
constinit std::atomic<std::uint64_t> taken{0};  // places that are not free
constinit std::atomic<std::uint64_t> failed{0};
static_assert(std::is_trivially_destructible_v<Place>);

// The places that the calling thread is inside of.
thread_local std::uint64_t t_inside __attribute__((tls_model("initial-exec"))) = 0;

std::uint64_t bit(std::size_t place) noexcept {
  return std::uint64_t{1} << place;
}

// Nobody is inside any more, nor will be: the caller alone may do this.
void free_place(std::size_t index) noexcept {
  Place& place = places[index];
  delete place.listener;
  place.listener = nullptr;
  place.state.fetch_and(kInside, std::memory_order_release);
  taken.fetch_and(~bit(index), std::memory_order_release);
}

void leave(std::size_t index) noexcept {
  Place& place = places[index];
  const std::uint64_t left = place.state.fetch_sub(1, std::memory_order_acq_rel) - 1;
  if ((left & kInside) != 0 || (left & kEnding) == 0) return;
  if ((left & kOrphaned) == 0) {
    place.state.notify_all();
    return;
  }
  std::uint64_t expected = left;  // one of those who leave last wins
  if (place.state.compare_exchange_strong(expected, kEnding, std::memory_order_acq_rel)) free_place(index);
}

void deliver(std::size_t index, const Event& event) noexcept {
  Place& place = places[index];
  const std::uint64_t found = place.state.fetch_add(1, std::memory_order_acquire);
  if ((found & (kLive | kEnding)) == kLive) {
    t_inside |= bit(index);
    try {
      (*place.listener)(event);
    } catch (...) {
      failed.fetch_add(1, std::memory_order_relaxed);
    }
    t_inside &= ~bit(index);
  }
  leave(index);
}

void nothing() noexcept {}

// Threads that were inside a listener when the process forked are not in the child and will never leave, nor
// will those that waited for an end. Their listeners are abandoned, not freed: handlers stay away from the
// heap.
void abandon_listeners() noexcept {
  for (std::size_t index = 0; index < kListenersMax; ++index) {
    const std::uint64_t inside = (t_inside & bit(index)) != 0 ? 1 : 0;
    const std::uint64_t flags = places[index].state.load(std::memory_order_relaxed) & ~kInside;
    const bool is_abandoned = inside == 0 && (flags & kEnding) != 0;
    places[index].state.store(is_abandoned ? 0 : flags | inside, std::memory_order_relaxed);
    if (is_abandoned) taken.fetch_and(~bit(index), std::memory_order_relaxed);
  }
}

}  // namespace

Result<Subscription> subscribe(Listener listener) {
  if (!listener) return fail(Code::invalid_argument, "subscribe: no function given");
  at_fork(1, {nothing, nothing, abandon_listeners});
  auto* const kept = new Listener(std::move(listener));
  std::uint64_t before = taken.load(std::memory_order_relaxed);
  std::size_t index = 0;
  do {
    if (~before == 0) {
      delete kept;
      return fail(Code::out_of_resources, "subscribe: " + std::to_string(kListenersMax) + " listen already");
    }
    index = static_cast<std::size_t>(std::countr_one(before));
  } while (!taken.compare_exchange_weak(before, before | bit(index), std::memory_order_acquire));
  places[index].listener = kept;
  places[index].state.fetch_or(kLive, std::memory_order_release);
  detail::listeners.fetch_or(bit(index), std::memory_order_release);
  return Subscription(index);
}

void Subscription::reset() noexcept {
  const std::size_t index = std::exchange(place_, kNone);
  if (index == kNone) return;
  Place& place = places[index];
  detail::listeners.fetch_and(~bit(index), std::memory_order_relaxed);
  if (t_inside != 0) {  // waiting here could be waiting for oneself
    place.state.fetch_add(1, std::memory_order_relaxed);
    place.state.fetch_or(kEnding | kOrphaned, std::memory_order_acq_rel);
    leave(index);
    return;
  }
  std::uint64_t state = place.state.fetch_or(kEnding, std::memory_order_acq_rel) | kEnding;
  while ((state & kInside) != 0) {
    place.state.wait(state, std::memory_order_acquire);
    state = place.state.load(std::memory_order_acquire);
  }
  free_place(index);
}

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    reset();
    place_ = std::exchange(other.place_, kNone);
  }
  return *this;
}

void emit(const Event& event) noexcept {
  std::uint64_t left = detail::listeners.load(std::memory_order_relaxed) & ~t_inside;
  if (left == 0) return;
  // A thread cancelled inside a listener would unwind through a host that expects nothing of the kind.
  int cancel_state = 0;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  Event stamped = event;
  if (stamped.unix_ns == 0) stamped.unix_ns = Clock::system().unix_ns();
  for (; left != 0; left &= left - 1) deliver(static_cast<std::size_t>(std::countr_zero(left)), stamped);
  pthread_setcancelstate(cancel_state, nullptr);
}

std::uint64_t failed_deliveries() noexcept {
  return failed.load(std::memory_order_relaxed);
}

}  // namespace larder
