// Requests: a product is found, joined while another makes it, or made. The lock is held only to see and to
// say which; makers run without it.
#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "memory/core.hpp"

namespace larder::detail {
namespace {

std::int64_t now_ns() noexcept {
  return Clock::system().steady().count();
}

// Without memory for the words the code must do.
Error error(Code code, std::string_view what) noexcept {
  try {
    return {code, std::string(what)};
  } catch (const std::bad_alloc&) {
    return {code, {}};
  }
}

Product failure(Code code, std::string_view what) noexcept {
  Product product;
  product.error = error(code, what);
  return product;
}

// What the maker itself and all who wait for it get.
Product failure(const Flight& flight) noexcept {
  Product product = failure(flight.error.code, flight.error.what);
  product.exception = flight.exception;
  return product;
}

// Nothing came of it, but something might if asked again.
bool is_for_now(const Answer& answer) noexcept {
  return answer.outcome == Outcome::failed &&
         (answer.reason == Reason::transient || answer.reason == Reason::out_of_resources);
}

Nanoseconds nanoseconds(std::uint64_t count) noexcept {
  return Nanoseconds(static_cast<std::int64_t>(count));
}

}  // namespace

// What a request finds under the lock.
struct Core::Entrance {
  Product hit;
  Flight* flight = nullptr;
  bool is_maker = false;
  Answer answer;
};

// What every request for a recipe tries first: takes no lock.
bool Core::find_hit(const Recipe& recipe, Key key, Product& product, Answer& answer) noexcept {
  Pin pin;
  Record* const record = table_.find(key, recipe.canonical());
  if (record == nullptr) return false;
  Slot& slot = record->slot;
  ObjectHead* const object = slot.object.load(std::memory_order_acquire);
  if (object == nullptr) return false;
  hold(*object);
  touch(slot, stamp());
  product.object = object;
  product.value = object->is_at_home ? reinterpret_cast<std::byte*>(&slot) + facts_.home_offset
                                     : static_cast<AwayObject*>(object)->value;
  product.weight = record->weight.load(std::memory_order_relaxed);
  answer = {Outcome::memory_hit, Reason::none, nanoseconds(record->cost_ns.load(std::memory_order_relaxed))};
  return true;
}

Core::Entrance Core::enter(const Request& request, Key key) {
  Entrance entrance;
  // Most who come here will make. Allocated before the lock is taken.
  auto prepared = std::make_unique<Flight>();
  MutexLock lock(mutex_);
  Record& record = request.slot != nullptr ? *request.slot->record : find_or_add(*request.recipe, key);
  if (record.is_kept) {
    Slot& slot = record.slot;
    entrance.hit.object = slot.object.load(std::memory_order_relaxed);
    entrance.hit.value = slot.value.load(std::memory_order_relaxed);
    entrance.hit.weight = record.weight.load(std::memory_order_relaxed);
    hold(*entrance.hit.object);
    touch(slot, stamp());
    entrance.answer = {Outcome::memory_hit, Reason::none, nanoseconds(record.cost_ns)};
  } else if (record.flight != nullptr) {
    entrance.flight = record.flight;
    entrance.flight->references.fetch_add(1, std::memory_order_relaxed);
    ++entrance.flight->joined;
  } else {
    Flight* const flight = prepared.release();
    record.flight = entrance.flight = flight;
    begin_flight(*flight);
    flight->record = &record;
    flight->next = std::exchange(flights_, flight);
    if (flight->next != nullptr) flight->next->previous = flight;
    flight->has_home = facts_.home_offset != 0 && !std::exchange(record.home_is_taken, true);
    record.claims.fetch_add(1, std::memory_order_relaxed);
    settle(record);
    fetch_likely_victims();
    entrance.is_maker = true;
    const Reason missed = budget_.missed(record.key.low);
    entrance.answer.reason = missed == Reason::absent ? record.left : missed;
    if (missed == Reason::evicted) counters_.count(Counter::would_have_hit);
  }
  return entrance;
}

Product Core::answer(const Request& request) {
  const bool is_ours = request.slot == nullptr || &request.slot->record->core == this;
  if (!is_ours || (request.slot == nullptr && request.recipe == nullptr)) {
    return failure(Code::invalid_argument, "get_or_make: the interned recipe is empty or another tier's");
  }
  const std::int64_t begin_ns = is_listened() ? now_ns() : 0;
  const Key key = request.slot == nullptr ? key_of(*request.recipe) : request.slot->record->key;
  Answer answer;
  Product product;
  bool had_memory = true;
  const bool is_hit = request.slot == nullptr && find_hit(*request.recipe, key, product, answer);
  for (std::uint32_t failed_joins = 0; !is_hit;) {
    try {
      const Entrance entrance = enter(request, key);
      answer = entrance.answer;
      if (entrance.is_maker) {
        product = make(*entrance.flight, request, answer);
      } else if (entrance.flight != nullptr) {
        product = join(*entrance.flight, answer);
        if (is_for_now(answer) && failed_joins++ < retries_max_) continue;
      } else {
        product = entrance.hit;
      }
      break;
    } catch (const std::bad_alloc&) {  // no memory to enter; what makers throw does not come by here
      if (!std::exchange(had_memory, false)) {
        product = failure(Code::out_of_resources, "get_or_make: out of memory, with the memory tier emptied");
        answer = {Outcome::failed, Reason::out_of_resources, Nanoseconds(0)};
        break;
      }
      clear_all(Reason::out_of_resources);
    }
  }
  tell(request, key, product, answer, begin_ns);
  if (request.answer != nullptr) *request.answer = answer;
  return product;
}

// Waits for another's making.
Product Core::join(Flight& flight, Answer& answer) {
  const std::int64_t begin_ns = now_ns();
  if (!wait_for(flight)) {
    leave_flight(flight);
    answer = {Outcome::failed, Reason::maker_failed, Nanoseconds(0)};
    return failure(Code::would_deadlock, "get_or_make: the product is asked for by its own making");
  }
  const std::int64_t waited_ns = now_ns() - begin_ns;
  this_worker().elsewhere_ns += waited_ns;
  counters_.count(Counter::waits);
  counters_.count(Counter::wait_ns, static_cast<std::uint64_t>(waited_ns));
  const bool succeeded = flight.state.load(std::memory_order_acquire) == FlightState::succeeded;
  answer = {succeeded ? Outcome::joined : Outcome::failed, flight.reason, nanoseconds(flight.cost_ns)};
  Product product = failure(flight);
  product.object = flight.object;
  product.value = flight.value;
  product.weight = flight.weight;
  release(&flight);
  return product;
}

// Ends the flight whatever becomes of its maker: a thread may be cancelled in it.
struct Core::Landing {
  Core& core;
  Flight& flight;
  bool is_over = false;
  ~Landing() {
    if (!is_over) {
      flight.error = error(Code::transient, "maker: ended without a result");
      core.crash(flight, FlightState::vanished, Reason::transient);
    }
    release(&flight);
  }
};

Product Core::make(Flight& flight, const Request& request, Answer& answer) {
  Landing landing{*this, flight};
  Worker& worker = this_worker();
  const std::int64_t elsewhere_before_ns = std::exchange(worker.elsewhere_ns, 0);
  const std::int64_t begin_ns = now_ns();
  std::int64_t start_ns = begin_ns;
  std::int64_t end_ns = 0;
  Making making;
  for (bool again = false;; again = true) {
    making = Making{};
    making.slot = &flight.record->slot;
    if (flight.has_home) making.home = reinterpret_cast<std::byte*>(making.slot) + facts_.home_offset;
    request.call(request.frame, making);
    end_ns = now_ns();
    answer.cost = Nanoseconds(std::max<std::int64_t>(1, end_ns - start_ns - worker.elsewhere_ns));
    counters_.count(Counter::making_ns, static_cast<std::uint64_t>(answer.cost.count()));
    if (making.end != Making::End::out_of_resources || again) break;
    counters_.count(Counter::retries);
    clear_all(Reason::out_of_resources);
    worker.elsewhere_ns = 0;
    start_ns = now_ns();
  }
  worker.elsewhere_ns = elsewhere_before_ns + end_ns - begin_ns;

  landing.is_over = true;
  if (making.end == Making::End::made) return land(flight, making, *request.options, answer);
  const bool is_final = making.end == Making::End::failed;
  answer.outcome = Outcome::failed;
  answer.reason = is_final                               ? Reason::maker_failed
                  : making.end == Making::End::transient ? Reason::transient
                                                         : Reason::out_of_resources;
  flight.error = std::move(making.error);
  flight.exception = std::move(making.exception);
  crash(flight, is_final ? FlightState::failed : FlightState::vanished, answer.reason);
  return failure(flight);
}

// The flight has its product: it is kept if it may be, and handed to those who wait.
Product Core::land(Flight& flight, Making& making, const MakeOptions& options, Answer& answer) {
  Aftermath after;
  bool is_crowded = false;
  const auto cost_ns = static_cast<std::uint64_t>(answer.cost.count());
  {
    Pin pin;
    Reason refusal = Reason::none;
    const Record& record = *flight.record;
    {
      MutexLock lock(mutex_);
      Record& mine = *flight.record;
      ++mine.objects;
      const bool is_home = making.object->is_at_home;
      if (flight.has_home && !is_home) mine.home_is_taken = false;
      // Everybody who gets the object holds it before anybody else can see it; the tier is one of them.
      making.object->holders.store(2 + flight.joined, std::memory_order_relaxed);
      refusal = mine.flight == &flight ? keep(mine, making, cost_ns, options, after) : Reason::cleared;
      if (refusal != Reason::none) making.object->holders.fetch_sub(1, std::memory_order_relaxed);
      flight.object = making.object;
      flight.value = making.value;
      flight.weight = making.weight;
      flight.cost_ns = cost_ns;
      flight.reason = refusal;
      forget(flight);
      is_crowded = wants_collecting();
    }
    end_flight(flight, FlightState::succeeded);
    answer.outcome = Outcome::made;
    if (refusal != Reason::none) answer.reason = refusal;
    if (refusal == Reason::none) {
      counters_.count(Counter::stored);
      counters_.count(Counter::stored_bytes, making.weight);
      if (is_listened()) {
        emit({.kind = EventKind::stored,
              .tier = Tier::memory,
              .recipe_kind = record.kind(),
              .key = record.key,
              .bytes = making.weight,
              .cost = nanoseconds(cost_ns)});
      }
    }
    settle_aftermath(after);
  }
  if (is_crowded) collect();
  Product product;
  product.object = making.object;
  product.value = making.value;
  product.weight = making.weight;
  return product;
}

// Nothing came of it; what went wrong stands in the flight.
void Core::crash(Flight& flight, FlightState state, Reason reason) noexcept {
  bool is_crowded = false;
  {
    MutexLock lock(mutex_);
    if (flight.has_home) flight.record->home_is_taken = false;
    flight.reason = reason;
    forget(flight);
    is_crowded = wants_sweeping();
  }
  end_flight(flight, state);
  if (is_crowded) sweep();
}

// The flight is over: the record may have another.
void Core::forget(Flight& flight) noexcept {
  Record& record = *std::exchange(flight.record, nullptr);
  if (record.flight == &flight) record.flight = nullptr;
  (flight.previous != nullptr ? flight.previous->next : flights_) = flight.next;
  if (flight.next != nullptr) flight.next->previous = flight.previous;
  record.claims.fetch_sub(1, std::memory_order_acq_rel);
  settle(record);
}

// The request will not wait for the flight that it joined.
void Core::leave_flight(Flight& flight) noexcept {
  ObjectHead* landed = nullptr;
  {
    MutexLock lock(mutex_);
    if (flight.record != nullptr)
      --flight.joined;
    else
      landed = flight.object;
  }
  if (landed != nullptr) let_go(*landed);
  release(&flight);
}

void Core::tell(const Request& request, Key key, const Product& product, const Answer& answer,
                std::int64_t begin_ns) noexcept {
  const bool is_saved = answer.outcome == Outcome::memory_hit || answer.outcome == Outcome::joined;
  counters_.count(answer.outcome, is_saved ? answer.cost : Nanoseconds(0));
  if (answer.reason != Reason::none) counters_.count(answer.reason);
  if (is_inner_ || !is_listened()) return;
  emit({.kind = EventKind::request,
        .outcome = answer.outcome,
        .reason = answer.reason,
        .tier = Tier::memory,
        .recipe_kind = request.recipe != nullptr ? request.recipe->kind() : request.slot->record->kind(),
        .key = key,
        .bytes = product.weight,
        .cost = answer.cost,
        .saved = is_saved ? answer.cost : Nanoseconds(0),
        .duration = Nanoseconds(begin_ns == 0 ? 0 : now_ns() - begin_ns)});
}

void MemoryCore::tell_hit(const Slot* slot) const noexcept {
  if (is_inner_) return;
  const Record& record = *slot->record;
  const Nanoseconds cost = nanoseconds(record.cost_ns.load(std::memory_order_relaxed));
  emit({.kind = EventKind::request,
        .outcome = Outcome::memory_hit,
        .tier = Tier::memory,
        .recipe_kind = record.kind(),
        .key = record.key,
        .bytes = record.weight.load(std::memory_order_relaxed),
        .cost = cost,
        .saved = cost});
}

}  // namespace larder::detail
