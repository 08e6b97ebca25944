// A MemoryTier keeps live objects under their recipes: each is made once, however many threads ask, and stays
// while it is worth its weight. Any thread may call anything at any time.
//
//   larder::MemoryTier<Kernel> kernels({.bytes_max = 64 << 20});
//   auto recipe = kernels.intern(larder::Recipe("kernel").add("source", source).add("options", options));
//   auto kernel = kernels.get_or_make(recipe, [&] { return compile(source, options); });
//
// Three ways to hold a hit, cheapest first:
//
//   larder::Guard guard(kernels);                       // until the guard ends; one serves many hits
//   Kernel* kernel = guard.get(recipe);
//   larder::Held<Kernel> kernel = kernels.get(recipe);  // until the last copy of the handle ends
//   kernels.get(recipe).to_shared();                    // a std::shared_ptr, for code that wants one
//
// An object is used by many threads at once: let T be const, or safe for that.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "larder/detail/memory_core.hpp"
#include "larder/detail/memory_making.hpp"
#include "larder/held.hpp"

namespace larder {

struct MemoryOptions {
  // Weights, interned recipes and larder's own records together. 0 keeps nothing.
  std::uint64_t bytes_max = 256u << 20;
  // Products. 0 keeps nothing.
  std::size_t count_max = std::numeric_limits<std::size_t>::max();
  // Who leaves a full tier: a policy's name. Empty: the one that the measurements chose.
  std::string_view policy{};
  // Once something must leave, products leave until what is kept is at most this share of the caps: 0 to 1.
  double low_water = 1;
  // How often one request tries again when those it waited for failed for the moment.
  std::uint32_t retries_max = 3;
  // True: part of a cache that tells of its requests and counts them itself. Then this tier sends no events
  // of requests, and what it counts is in its own counters only.
  bool is_inner = false;
};

struct MemoryStats {
  std::size_t count = 0;        // products kept
  std::size_t interned = 0;     // recipes known: those of products, of handles, of makings in progress
  std::uint64_t bytes = 0;      // what counts against bytes_max
  std::uint32_t making = 0;     // makers at work
  std::uint32_t waiting = 0;    // requests that wait for one of them
  std::size_t unreclaimed = 0;  // left the tier, but a reader's guard may still see them
  std::uint64_t unreclaimed_bytes = 0;  // not part of `bytes`; Guard says what bounds it
  std::uint64_t bytes_per_recipe = 0;   // what larder adds to the canonical bytes and the product's weight
};

// How a request was answered.
struct Answer {
  Outcome outcome = Outcome::bypassed;
  Reason reason = Reason::none;  // why it was no hit, or why its product is not kept
  Nanoseconds cost{0};           // what making the product took, without what its maker had others make
};

enum class Pressure : std::uint8_t {
  moderate = 1,  // shrink to a quarter of bytes_max
  critical = 2,  // keep nothing
};

template <typename T>
class MemoryTier;

// While a guard lives, what it returned stays alive, whatever is evicted meanwhile. Guards nest, cost two
// plain stores, and belong to one thread. While one lives no tier can free what leaves it. Once more than
// bytes_max of it waits (more than 1 MiB where bytes_max is less), products are made but not kept, with the
// reason out_of_space: no guard over a call to get_or_make, please. So what is kept and what waits, together,
// never pass max(bytes_max, 1 MiB) + bytes_max + the weight of one product + a few words per recipe. Requests
// and interned recipes that nothing is kept for leave nothing behind, however many come under a guard.
template <typename T>
class Guard {
 public:
  [[gnu::always_inline]] explicit Guard(MemoryTier<T>& tier) noexcept
      : record_(detail::pin()), core_(*tier.core_) {}
  [[gnu::always_inline]] ~Guard() {
    if (hits_ != 0) core_.counters().count(Outcome::memory_hit, detail::cost_from(saved_), hits_);
    detail::unpin(record_);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // The object, or null when none is kept.
  [[gnu::always_inline]] T* get(const InternedRecipe<T>& recipe) noexcept { return look(*own(recipe)); }
  // The same for a recipe not interned: hashes it, and compares its bytes with those of the entry.
  T* get(const Recipe& recipe) noexcept {
    detail::hold_loads_back();
    detail::Slot* const slot = core_.find(recipe);
    return slot == nullptr ? nullptr : look(*slot);
  }
  // objects[i] = get(recipes[i]), faster than one by one: memory is asked for all before any is awaited.
  void get_many(std::span<const InternedRecipe<T>> recipes, std::span<T*> objects) noexcept {
    look_many([&](std::size_t i) { return own(recipes[i]); }, objects.first(recipes.size()));
  }
  // The same for recipes that stand in different places.
  void get_many(std::span<const InternedRecipe<T>* const> recipes, std::span<T*> objects) noexcept {
    look_many([&](std::size_t i) { return own(*recipes[i]); }, objects.first(recipes.size()));
  }

 private:
  [[gnu::always_inline]] detail::Slot* own(const InternedRecipe<T>& recipe) const noexcept {
    assert(core_.owns(recipe.slot_));
    return recipe.slot_;
  }
  // Inlined, the counts live in registers, and one hit under a guard of its own is some forty instructions.
  [[gnu::always_inline]] T* look(detail::Slot& at) noexcept {
    constexpr std::size_t kHome = detail::facts_of<T>().home_offset;
    detail::Slot& slot = *detail::behind_pin(&at, record_);
    const std::uint32_t used = slot.used.load(std::memory_order_acquire);
    void* value = nullptr;
    if constexpr (kHome != 0) {
      value = reinterpret_cast<std::byte*>(&slot) + kHome;
      if (const std::uint32_t stamp = core_.stamp(); (used ^ stamp) > detail::kFrequencyMax) [[unlikely]] {
        value = detail::is_fresh(used, stamp) ? slot.value.load(std::memory_order_acquire)
                                              : core_.look_closer(slot, used);
      }
    } else {
      value = slot.value.load(std::memory_order_acquire);
      if (!detail::is_fresh(used, core_.stamp())) [[unlikely]]
        value = core_.look_closer(slot, used);
    }
    if (value == nullptr) [[unlikely]]
      return nullptr;
    ++hits_;
    saved_ += slot.cost.load(std::memory_order_relaxed);
    if (is_listened()) [[unlikely]]
      core_.tell_hit(&slot);
    return static_cast<T*>(value);
  }

  template <typename SlotAt>
  [[gnu::always_inline]] void look_many(SlotAt slot_at, std::span<T*> objects) noexcept {
    constexpr std::size_t kAhead = 16;
    const std::size_t count = objects.size();
    for (std::size_t i = 0; i < std::min(kAhead, count); ++i) detail::prefetch<T>(slot_at(i));
    for (std::size_t i = 0; i < count; ++i) {
      if (i + kAhead < count) detail::prefetch<T>(slot_at(i + kAhead));
      objects[i] = look(*slot_at(i));
    }
  }

  detail::EpochRecord& record_;
  detail::MemoryCore& core_;
  std::uint64_t hits_ = 0;
  std::uint64_t saved_ = 0;
};

// How a product is kept, once it is made.
struct MakeOptions {
  // It leaves the tier when its parent leaves, as a kernel leaves with its program. When no parent is kept at
  // the time, be it that it never was, it is handed out, but not kept, with the reason `evicted`.
  Parent parent{};
  // No policy and no pressure evicts it; clear, erase and a parent's leaving do.
  bool pinned = false;
  // Who uses it (a page, an application), for policies that look at groups.
  std::uint64_t group = 0;
};

template <typename T>
class MemoryTier {
 public:
  // What a product weighs, all that it owns included. Without it: sizeof(T).
  using Weigh = std::function<std::uint64_t(const T&)>;

  // Throws std::bad_alloc, and std::invalid_argument for a policy that does not exist or a low_water that is
  // no share.
  explicit MemoryTier(const MemoryOptions& options = {}, Weigh weigh = {})
      : core_(detail::MemoryCore::open(options, detail::facts_of<T>())), weigh_(std::move(weigh)) {}
  // What is still held elsewhere lives on. What a destructor of a product asks for meanwhile is made and
  // handed out, but not kept (closed).
  ~MemoryTier() { core_->close(); }
  MemoryTier(const MemoryTier&) = delete;
  MemoryTier& operator=(const MemoryTier&) = delete;

  // Weighs in bytes_max, whatever the cap, until its last handle has gone. Throws std::bad_alloc.
  InternedRecipe<T> intern(const Recipe& recipe) { return InternedRecipe<T>(core_->intern(recipe)); }

  // The product, or an empty handle when none is kept.
  Held<T> get(const InternedRecipe<T>& recipe) noexcept {
    assert(core_->owns(recipe.slot_));
    return hold(recipe.slot_);
  }
  Held<T> get(const Recipe& recipe) noexcept {
    detail::Pin pin;
    return hold(core_->find(recipe));
  }

  // The product. When none is kept, what `maker()` makes of it: a T, a unique_ptr or shared_ptr to one, a
  // Disposable handle, or a Result of any of these; it is kept if there is room.
  // One of the threads that ask at once makes it. The others wait for the same object, error or exception.
  // No failure is remembered. After some, there is another try:
  // - transient (that Code, a TransientFailure thrown, or a thread that ended in its maker): one of those
  //   who wait tries for himself, each at most retries_max times;
  // - out_of_resources (that Code, or std::bad_alloc): the tier is emptied, the maker called once more, and
  //   should that fail too, it counts as transient.
  // A maker may ask for other products. One that asks for its own, be it through other makers on other
  // threads that wait for each other's products, gets would_deadlock instead of waiting for itself. A thread
  // that a maker starts and joins by itself is not known to be its: if it asks for that maker's product, the
  // two wait for each other for ever, as with any lock.
  template <typename Maker>
  Result<Held<T>> get_or_make(const InternedRecipe<T>& recipe, Maker&& maker, const MakeOptions& options = {},
                              Answer* answer = nullptr) {
    if (recipe) {
      if (Held<T> held = hold(recipe.slot_)) return tell(std::move(held), recipe.slot_, answer);
    }
    return request({.slot = recipe.slot_, .options = &options, .answer = answer}, maker);
  }
  template <typename Maker>
  Result<Held<T>> get_or_make(const Recipe& recipe, Maker&& maker, const MakeOptions& options = {},
                              Answer* answer = nullptr) {
    return request({.recipe = &recipe, .options = &options, .answer = answer}, maker);
  }

  // True when a product was kept. What is being made at the time goes to those who wait, and is not kept.
  bool erase(const InternedRecipe<T>& recipe) noexcept { return core_->erase(recipe.slot_); }
  bool erase(const Recipe& recipe) noexcept { return core_->erase(recipe); }
  void clear() noexcept { core_->clear(); }
  // Makes room when the machine needs its memory.
  void relieve(Pressure pressure) noexcept { core_->relieve(pressure); }
  // False when no product is kept.
  bool set_pinned(const InternedRecipe<T>& recipe, bool pinned) noexcept {
    return core_->set_pinned(recipe.slot_, pinned);
  }

  MemoryStats stats() const noexcept { return core_->stats(); }
  // Outcomes, reasons, seconds saved. Hits under a guard are counted when the guard ends.
  CounterTotals totals() const noexcept { return core_->counters().totals(); }

 private:
  friend class Guard<T>;

  Held<T> hold(detail::Slot* slot) noexcept {
    detail::Pin pin;
    detail::ObjectHead* const object =
        slot == nullptr ? nullptr : slot->object.load(std::memory_order_acquire);
    if (object == nullptr) return {};
    detail::hold(*object);
    core_->count_hit(*slot);
    return Held<T>(static_cast<T*>(detail::value_of<T>(*object)), object);
  }
  Result<Held<T>> tell(Held<T> held, const detail::Slot* slot, Answer* answer) noexcept {
    if (answer != nullptr) *answer = Answer{Outcome::memory_hit, Reason::none, detail::cost_of(*slot)};
    return held;
  }
  template <typename Maker>
  Result<Held<T>> request(detail::Request request, Maker& maker) {
    detail::MakerFrame<T, Maker> frame{maker, weigh_};
    request.call = &frame.call;
    request.frame = &frame;
    detail::Product product = core_->get_or_make(request);
    if (product.exception != nullptr) std::rethrow_exception(std::move(product.exception));
    if (product.object == nullptr) return tl::unexpected<Error>(std::move(product.error));
    return Held<T>(static_cast<T*>(product.value), product.object);
  }

  detail::MemoryCore* core_;
  Weigh weigh_;
};

}  // namespace larder
