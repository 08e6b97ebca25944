// The way of a request through the tiers.
#include <algorithm>
#include <utility>

#include "cache/cache_core.hpp"
#include "cache/texts.hpp"
#include "larder/events.hpp"

namespace larder {
namespace {

Tier tier_of(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::memory_hit:
    case Outcome::joined:
      return Tier::memory;
    case Outcome::disk_hit:
      return Tier::disk;
    case Outcome::bundle_hit:
      return Tier::bundle;
    case Outcome::remote_hit:
      return Tier::remote;
    default:
      return Tier::none;
  }
}

bool is_hit(Outcome outcome) noexcept {
  return tier_of(outcome) != Tier::none;
}

// What to do about a product that the store does not keep.
std::string_view advice_on(Reason reason) noexcept {
  switch (reason) {
    case Reason::out_of_space:
      return "; make room there, or see size-max and free-min";
    case Reason::unwritable:
    case Reason::untrusted:
    case Reason::unreadable:
      return "; see larder doctor";
    case Reason::too_large:
      return "; see entry-size-max and size-max";
    case Reason::too_small:
      return "; see entry-size-min";
    case Reason::out_of_resources:
      return "; memory or descriptors are short";
    default:
      return "";
  }
}

Product to_product(const Kept& kept, Outcome outcome, Reason reason) {
  return {.bytes = kept.bytes, .log = kept.log, .cost = kept.cost, .outcome = outcome, .reason = reason};
}

}  // namespace

Mode CacheCore::mode_of(const Request& how) const noexcept {
  return how.mode == Mode::as_opened ? mode_ : how.mode;
}

Result<Product> CacheCore::request(const Recipe& recipe, detail::AnyMaker maker, const Request& how) {
  const auto begin = clock_.steady();
  Attempt attempt{.recipe = recipe,
                  .key = recipe.key(),
                  .how = how,
                  .mode = mode_of(how),
                  .clearings = clearings_.load(std::memory_order_acquire)};
  if (is_disabled_) return make_aside(attempt, maker, Reason::disabled);
  if (is_closed_.load(std::memory_order_relaxed)) return make_aside(attempt, maker, Reason::closed);
  if (attempt.mode == Mode::bypass) return make_aside(attempt, maker, Reason::none);
  if (attempt.mode == Mode::require_hit) return find_only(attempt);
  if (attempt.mode == Mode::refresh) memory_.erase(recipe);

  Answer answer;
  auto held = memory_.get_or_make(
      recipe, [&] { return lead(attempt, maker); }, {}, &answer);
  if (!attempt.led) attempt.outcome = held ? answer.outcome : Outcome::failed;
  if (is_hit(attempt.outcome)) attempt.reason = Reason::none;

  if (!held) {
    tell_failure(attempt, held.error(), clock_.steady() - begin);
    return fail(held.error().code, std::move(held.error().what));
  }
  if (!(*held)->is_used.load(std::memory_order_relaxed) && !(*held)->is_used.exchange(true)) {
    order_.used(attempt.key, how.load_first);
  }
  // The tier answers only `made` for its leader; where the leader found it is told by the attempt.
  Product product = to_product(**held, attempt.outcome, attempt.reason);
  if (attempt.mode == Mode::verify && is_hit(attempt.outcome)) verify(attempt, maker, product);
  tell(attempt, product, clock_.steady() - begin);
  return product;
}

// On the one thread of this process that goes below the memory tier for this recipe.
Result<Kept> CacheCore::lead(Attempt& attempt, detail::AnyMaker maker) {
  attempt.led = true;
  if (attempt.mode != Mode::refresh) {
    if (auto found = find_below(attempt)) return std::move(*found);
    if (auto failure = negatives_.find(attempt.recipe, attempt.key)) {
      attempt.outcome = Outcome::failed;
      attempt.reason = Reason::negative;
      return fail(failure->code, std::move(failure->what));
    }
  }
  if (store_ == nullptr || attempt.mode == Mode::read_only) return make(attempt, maker);

  const Reason reason = attempt.reason;
  const auto turn = std::make_shared<const MakeTurn>(store_->wait_for_turn(attempt.key));
  if (turn->turn == Turn::unavailable) tell_no_turns();
  if (turn->waited > Nanoseconds{0}) {
    counters_.count(Counter::waits);
    counters_.count(Counter::wait_ns, static_cast<std::uint64_t>(turn->waited.count()));
  }
  // Another process may have published it while we waited, or just before our turn came.
  if (attempt.mode != Mode::refresh && (turn->turn == Turn::published || turn->turn == Turn::mine)) {
    if (auto found = find_below(attempt)) return std::move(*found);
  }
  attempt.reason = turn->turn == Turn::timed_out ? Reason::timed_out : reason;
  if (turn->turn == Turn::mine) attempt.turn = turn;
  return make(attempt, maker);
}

std::optional<Kept> CacheCore::find_below(Attempt& attempt) {
  if (writes_ != nullptr) {
    if (auto pending = writes_->find(attempt.recipe, attempt.key)) {
      attempt.outcome = Outcome::memory_hit;
      return Kept{std::move(pending->bytes), std::move(pending->log), pending->cost};
    }
  }
  if (store_ != nullptr) {
    Lookup found =
        store_->get(attempt.recipe, attempt.key,
                    {.may_map = attempt.how.may_map, .read_only = attempt.mode == Mode::read_only});
    if (found) {
      attempt.outcome = Outcome::disk_hit;
      std::string log(found.entry.log);
      return Kept{std::move(found.entry.product), std::move(log), found.entry.cost};
    }
    attempt.reason = found.reason;
  }
  return find_in_bundles(attempt);
}

// What comes from a bundle is kept in memory alone: on this machine's disk it is already.
std::optional<Kept> CacheCore::find_in_bundles(Attempt& attempt) {
  if (bundles_.empty()) return std::nullopt;
  Reason reason = refusals_.find(attempt.key);
  if (reason == Reason::none) {
    BundleLookup found =
        bundles_.get(attempt.recipe, attempt.key, {.may_map = attempt.how.may_map}, counters_);
    if (found) {
      attempt.outcome = Outcome::bundle_hit;
      std::string log(found.log);
      return Kept{std::move(found.product), std::move(log), found.cost};
    }
    reason = found.reason;
  }
  if (attempt.reason == Reason::absent) attempt.reason = reason;
  return std::nullopt;
}

Reason CacheCore::why_taken_out(const Key& key) const {
  const Reason why = refusals_.find(key);
  return why == Reason::none ? Reason::absent : why;
}

Result<Kept> CacheCore::make(Attempt& attempt, detail::AnyMaker maker) {
  attempt.outcome = Outcome::made;
  if (attempt.mode == Mode::refresh) attempt.reason = Reason::refreshed;
  // Now that the time of making is to be spent, the store's longer memory may say more than "absent".
  if (attempt.reason == Reason::absent && store_ != nullptr) attempt.reason = store_->absence(attempt.key);
  if (attempt.reason == Reason::absent) attempt.reason = why_taken_out(attempt.key);
  miss(attempt);
  const auto begin = clock_.steady();
  Result<Made> made = [&] {
    try {
      return maker.call(maker.maker);
    } catch (...) {
      attempt.outcome = Outcome::failed;
      attempt.reason = Reason::maker_failed;
      throw;
    }
  }();
  const Nanoseconds cost = clock_.steady() - begin;
  if (!made) {
    attempt.outcome = Outcome::failed;
    attempt.reason = made.error().code == Code::transient ? Reason::transient : Reason::maker_failed;
    negatives_.remember(attempt.recipe, attempt.key, made.error());
    return fail(made.error().code, std::move(made.error().what));
  }
  histograms_->record(Measure::miss_make_time, static_cast<std::uint64_t>(cost.count()));
  histograms_->record(Measure::binary_size, made->bytes.size());
  counters_.count(Counter::making_ns, static_cast<std::uint64_t>(cost.count()));
  const auto log_max = *settings_.values.maker_log_max;
  if (made->log.size() > log_max) made->log.resize(log_max);
  Kept kept{std::move(made->bytes), std::move(made->log), made->cost.value_or(cost)};
  // What a bundle has stays unwanted there.
  if (!bundles_.contains(attempt.key)) refusals_.forget(attempt.key);
  if (made->keep) {
    if (attempt.mode == Mode::refresh) {
      forget_on_disk(attempt.recipe, attempt.key, Reason::refreshed);
      if (bundles_.contains(attempt.key)) refusals_.remember(attempt.key, Reason::refreshed);
    }
    keep(attempt, kept, attempt.how.texts);
  } else {
    attempt.reason = Reason::nothing_to_store;
    // While it is being made: those who wait for it get it, and nobody after them.
    memory_.erase(attempt.recipe);
  }
  return kept;
}

// Sends a product on its way to the disk. False: it is not kept there, and an event has said why.
bool CacheCore::keep(const Attempt& attempt, const Kept& kept, std::span<const Text> texts) {
  if (store_ == nullptr || attempt.mode == Mode::read_only) return false;
  if (attempt.clearings != clearings_.load(std::memory_order_acquire)) return false;
  PendingWrite write{attempt.recipe,
                     attempt.key,
                     kept.bytes,
                     kept.log,
                     texts_to_keep(attempt.recipe, texts, *settings_.values.attachment_max),
                     kept.cost,
                     attempt.turn};
  if (writes_ != nullptr && writes_->add(write)) {
    // A clear that came in between has either dropped it or must be followed here.
    if (attempt.clearings == clearings_.load(std::memory_order_acquire)) return true;
    forget_on_disk(attempt.recipe, attempt.key, Reason::cleared);
    return false;
  }
  this->write(write);
  if (attempt.clearings == clearings_.load(std::memory_order_acquire)) return true;
  forget_on_disk(attempt.recipe, attempt.key, Reason::cleared);
  return false;
}

void CacheCore::write(const PendingWrite& write) noexcept try {
  histograms_->record(Measure::cache_size_before, store_->usage().bytes);
  const std::string attachment = format::encode_texts(write.texts);
  const PutResult put =
      store_->put(write.recipe, write.key, write.bytes.view(),
                  {.cost = write.cost, .log = write.log, .attachment = as_bytes(attachment)});
  if (put.state == PutState::stored) histograms_->record(Measure::cache_size_after, store_->usage().bytes);
  if (put.state == PutState::not_kept) return tell_unkept(write, put.reason);
  if (put.state == PutState::already_there) return;
  unkept_.store(0, std::memory_order_relaxed);
  if (!is_listened()) return;
  emit({.kind = EventKind::stored,
        .tier = Tier::disk,
        .recipe_kind = write.recipe.kind(),
        .key = write.key,
        .bytes = write.bytes.size(),
        .cost = write.cost});
} catch (const std::bad_alloc&) {
  tell_unkept(write, Reason::out_of_resources);
}

void CacheCore::tell_unkept(const PendingWrite& write, Reason reason) noexcept try {
  counters_.count(reason);
  const std::uint64_t cause = std::uint64_t{1} << (static_cast<unsigned>(reason) % 64);
  if ((unkept_.fetch_or(cause, std::memory_order_relaxed) & cause) != 0) return;
  counters_.count(Counter::warnings);
  std::string detail = store_->options().root + ": not kept on disk (" + std::string(name(reason)) + ')' +
                       std::string(advice_on(reason));
  {
    const MutexLock lock(notes_mutex_);
    if (std::find(problems_.begin(), problems_.end(), detail) == problems_.end()) problems_.push_back(detail);
  }
  if (!is_listened()) return;
  emit({.kind = EventKind::warning,
        .reason = reason,
        .tier = Tier::disk,
        .recipe_kind = write.recipe.kind(),
        .key = write.key,
        .bytes = write.bytes.size(),
        .cost = write.cost,
        .detail = std::move(detail)});
} catch (const std::bad_alloc&) {
  // Counted it is.
}

// Beside the cache: nothing is looked up, shared or kept.
Result<Product> CacheCore::make_aside(Attempt& attempt, detail::AnyMaker maker, Reason reason) {
  attempt.outcome = Outcome::bypassed;
  attempt.reason = reason;
  const auto begin = clock_.steady();
  Result<Made> made = maker.call(maker.maker);
  const Nanoseconds cost = clock_.steady() - begin;
  if (!made) {
    tell_failure(attempt, made.error(), cost);
    return fail(made.error().code, std::move(made.error().what));
  }
  Product product{std::move(made->bytes), std::move(made->log), cost, Outcome::bypassed, reason};
  tell(attempt, product, cost);
  return product;
}

Result<Product> CacheCore::find_only(Attempt& attempt) {
  const auto begin = clock_.steady();
  if (auto held = memory_.get(attempt.recipe)) {
    attempt.outcome = Outcome::memory_hit;
    attempt.reason = Reason::none;
    Product product = to_product(*held, Outcome::memory_hit, Reason::none);
    tell(attempt, product, clock_.steady() - begin);
    return product;
  }
  if (auto found = find_below(attempt)) {
    attempt.reason = Reason::none;
    Product product = to_product(*found, attempt.outcome, Reason::none);
    // Whoever was faster keeps his.
    (void)memory_.get_or_make(attempt.recipe, [&]() -> Kept { return std::move(*found); });
    tell(attempt, product, clock_.steady() - begin);
    return product;
  }
  attempt.outcome = Outcome::missed;
  Error error{Code::not_found, "require-hit: no tier has it: " + std::string(name(attempt.reason))};
  tell_failure(attempt, error, clock_.steady() - begin);
  return fail(error.code, std::move(error.what));
}

// Makes a hit again and compares; what differs is put aside and the new product takes its place.
void CacheCore::verify(Attempt& attempt, detail::AnyMaker maker, Product& product) {
  // Spread over requests without a random number: every share-th hit by a counter of this thread.
  thread_local unsigned dice = 0;
  const unsigned share = *settings_.values.verify_share;
  dice += share;
  if (dice < 100) return;
  dice -= 100;
  const auto begin = clock_.steady();
  Result<Made> made = maker.call(maker.maker);
  const Nanoseconds cost = clock_.steady() - begin;
  if (!made || made->bytes == product.bytes) return;
  remove(attempt.recipe, Reason::mismatch);
  counters_.count(Counter::damaged);
  emit({.kind = EventKind::damaged,
        .outcome = attempt.outcome,
        .reason = Reason::mismatch,
        .tier = tier_of(attempt.outcome),
        .recipe_kind = attempt.recipe.kind(),
        .key = attempt.key,
        .bytes = product.bytes.size(),
        .cost = cost,
        .detail = "verify: the product made now differs from the one that was kept"});
  put(attempt.recipe, made->bytes, {.cost = cost, .log = made->log, .texts = attempt.how.texts});
  product = Product{std::move(made->bytes), std::move(made->log), cost, Outcome::made, Reason::mismatch};
  attempt.outcome = Outcome::made;
  attempt.reason = Reason::mismatch;
}

std::optional<Product> CacheCore::get(const Recipe& recipe, const Request& how) {
  if (is_disabled_ || is_closed_.load(std::memory_order_relaxed) || mode_of(how) == Mode::bypass)
    return std::nullopt;
  Attempt attempt{.recipe = recipe, .key = recipe.key(), .how = how, .mode = Mode::require_hit};
  auto found = find_only(attempt);
  if (!found) return std::nullopt;
  return std::move(*found);
}

bool CacheCore::put(const Recipe& recipe, Bytes bytes, const Origin& origin) {
  if (is_disabled_ || is_closed_.load(std::memory_order_relaxed) || mode_ == Mode::bypass) return false;
  const Request how;
  const Attempt attempt{.recipe = recipe,
                        .key = recipe.key(),
                        .how = how,
                        .mode = mode_,
                        .clearings = clearings_.load(std::memory_order_acquire)};
  Kept kept{std::move(bytes), std::string(origin.log), origin.cost};
  if (origin.replace && mode_ != Mode::read_only) forget_on_disk(recipe, attempt.key, Reason::refreshed);
  const bool on_disk = keep(attempt, kept, origin.texts);
  Answer answer;
  memory_.erase(recipe);
  const auto held = memory_.get_or_make(
      recipe, [&]() -> Kept { return std::move(kept); }, {}, &answer);
  return on_disk || (held && answer.reason == Reason::none);
}

std::optional<Product> CacheCore::look(const Recipe& recipe) {
  if (is_disabled_ || is_closed_.load(std::memory_order_relaxed)) return std::nullopt;
  const Request how;
  Attempt attempt{.recipe = recipe, .key = recipe.key(), .how = how, .mode = Mode::require_hit};
  auto found = find_below(attempt);
  if (!found) return std::nullopt;
  return to_product(*found, attempt.outcome, Reason::none);
}

bool CacheCore::put_made(const Recipe& recipe, Bytes bytes, Nanoseconds cost) {
  const std::uint64_t size = bytes.size();
  if (!put(recipe, std::move(bytes), {.cost = cost})) return false;
  counters_.count(Outcome::made);
  counters_.count(Reason::absent);
  counters_.count(Counter::making_ns, static_cast<std::uint64_t>(cost.count()));
  histograms_->record(Measure::miss_make_time, static_cast<std::uint64_t>(cost.count()));
  histograms_->record(Measure::binary_size, size);
  note_soon();
  return true;
}

void CacheCore::tell(const Attempt& attempt, const Product& product, Nanoseconds duration) noexcept {
  const bool hit = is_hit(attempt.outcome);
  const Nanoseconds saved = hit ? product.cost : Nanoseconds{0};
  counters_.count(attempt.outcome, saved);
  if (attempt.reason != Reason::none) counters_.count(attempt.reason);
  note_soon();
  if (hit) histograms_->record(Measure::hit_time, static_cast<std::uint64_t>(duration.count()));
  if (!is_listened()) return;
  emit({.kind = EventKind::request,
        .outcome = attempt.outcome,
        .reason = attempt.reason,
        .tier = tier_of(attempt.outcome),
        .recipe_kind = attempt.recipe.kind(),
        .key = attempt.key,
        .bytes = product.bytes.size(),
        .cost = product.cost,
        .saved = saved,
        .duration = duration});
}

void CacheCore::tell_failure(const Attempt& attempt, const Error& error, Nanoseconds duration) noexcept {
  const Outcome outcome = attempt.outcome == Outcome::missed ? Outcome::missed : Outcome::failed;
  counters_.count(outcome);
  counters_.count(attempt.reason);
  note_soon();
  if (!is_listened()) return;
  emit({.kind = EventKind::request,
        .outcome = outcome,
        .reason = attempt.reason,
        .recipe_kind = attempt.recipe.kind(),
        .key = attempt.key,
        .duration = duration,
        .detail = error.what});
}

}  // namespace larder
