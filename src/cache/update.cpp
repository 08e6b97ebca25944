// Replacing what is kept by something made of it, by one process at a time.
#include "cache/cache_core.hpp"

namespace larder {
namespace {

// A holder that takes longer than three times this is not waited for.
constexpr Nanoseconds kExpected = std::chrono::milliseconds(500);

}  // namespace

bool CacheCore::update(const Recipe& recipe,
                       const std::function<std::optional<Made>(const Product*)>& change) {
  if (is_disabled_ || is_closed_.load(std::memory_order_relaxed) || mode_ == Mode::bypass ||
      mode_ == Mode::read_only || store_ == nullptr) {
    return false;
  }
  // A key of its own, under which nothing is ever kept: whoever waits for a turn goes without one as soon as
  // there is an entry.
  const Key turn_key = Recipe("turn-to-update").add("recipe", recipe.canonical()).key();
  const MakeTurn turn = store_->wait_for_turn(turn_key, kExpected);
  if (turn.turn == Turn::unavailable) tell_no_turns();
  const auto kept = look(recipe);
  std::optional<Made> made = change(kept ? &*kept : nullptr);
  if (!made || !made->keep) return false;
  const Nanoseconds cost = made->cost.value_or(Nanoseconds{0});
  const std::uint64_t size = made->bytes.size();
  if (!put(recipe, std::move(made->bytes), {.cost = cost, .log = made->log, .texts = {}, .replace = true}))
    return false;
  counters_.count(Outcome::made);
  histograms_->record(Measure::binary_size, size);
  note_soon();
  return true;
}

}  // namespace larder
