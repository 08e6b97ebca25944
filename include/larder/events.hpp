// The event stream of the process: whoever subscribes hears of every request, eviction and warning.
// Any thread may emit, subscribe and unsubscribe at any time. While nobody listens an event costs one load:
//
//   if (is_listened()) emit({.kind = EventKind::request, .outcome = Outcome::made, .cost = cost});
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "larder/event.hpp"
#include "larder/export.h"
#include "larder/result.hpp"

namespace larder {

// Called on the thread that emits, from many threads at once, and quickly, please: a request waits for it.
// What it throws is swallowed and counted. Events that its own calls cause are not delivered to it again.
using Listener = std::function<void(const Event&)>;

inline constexpr std::size_t kListenersMax = 64;

// Keeps a listener subscribed while it lives.
class LARDER_API Subscription {
 public:
  Subscription() noexcept = default;
  Subscription(Subscription&& other) noexcept : place_(std::exchange(other.place_, kNone)) {}
  Subscription& operator=(Subscription&& other) noexcept;
  ~Subscription() { reset(); }

  // Ends it: when this returns the listener neither runs nor will run, and its captures are gone. Called from
  // inside a listener it does not wait: a call under way elsewhere finishes, and the captures go with it.
  void reset() noexcept;
  bool is_active() const noexcept { return place_ != kNone; }

 private:
  friend LARDER_API Result<Subscription> subscribe(Listener listener);
  static constexpr std::size_t kNone = kListenersMax;
  explicit Subscription(std::size_t place) noexcept : place_(place) {}

  std::size_t place_ = kNone;
};

// out_of_resources when kListenersMax listen already, invalid_argument for an empty listener.
LARDER_API Result<Subscription> subscribe(Listener listener);

namespace detail {
// One bit for each place that holds a listener.
LARDER_API extern constinit std::atomic<std::uint64_t> listeners;
}  // namespace detail

// False: an event would be heard by nobody, so it need not be built.
inline bool is_listened() noexcept {
  return detail::listeners.load(std::memory_order_relaxed) != 0;
}

// Delivers to every listener. An event without a time gets the present one.
LARDER_API void emit(const Event& event) noexcept;

// How many deliveries ended in an exception since the process began.
LARDER_API std::uint64_t failed_deliveries() noexcept;

}  // namespace larder
