// What the templates of memory.hpp stand on: the slot that a hit touches, and the core behind it, which knows
// nothing of the type it keeps. Nothing here is to be used directly.
//
// A slot is an interned recipe and the place of its product in one. Its first line holds all that a hit
// touches; a small product lives right behind, in the same line where it fits. The recipe's bytes, the
// accounts and the links are in its record, which a hit does not touch.
//
// `used` says in one word what a hit wants to know: when it equals the core's stamp but for the frequency, a
// product is at home, and its use is no news. Then its address follows from the slot's, so that slot and
// product come from memory at the same time. Everything else is looked at more closely. Only the core's
// mutex lets kNotHome change; readers exchange the rest, and only against what they saw.
//
// Holders: an object counts who holds it: the tier while it is kept, and every Held. Readers under a pin need
// no count, because the tier's hold is given up only after every reader that could have seen the object has
// gone. Claims: a slot leaves when neither a claim (an interned recipe, a making in progress) nor an object
// needs it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

#include "larder/counters.hpp"
#include "larder/detail/epoch.hpp"
#include "larder/event.hpp"
#include "larder/events.hpp"
#include "larder/export.h"
#include "larder/recipe.hpp"
#include "larder/result.hpp"

namespace larder {

struct MemoryOptions;
struct MemoryStats;
struct MakeOptions;
struct Answer;
enum class Pressure : std::uint8_t;

namespace detail {

struct Record;
struct Slot;
class Core;
class MemoryCore;

struct ObjectHead {
  std::atomic<std::uint32_t> holders{0};
  bool is_at_home = false;
};

// An object that does not live in its slot. `destroy` frees it and what it owns.
struct AwayObject : ObjectHead, Retired {
  Slot* slot = nullptr;
  void* value = nullptr;
  void (*destroy)(AwayObject*) noexcept = nullptr;
};

struct alignas(64) Slot {
  std::atomic<void*> value{nullptr};         // the product, null when there is none
  std::atomic<ObjectHead*> object{nullptr};  // what counts its holders
  Record* record = nullptr;                  // the cold half
  std::atomic<std::uint32_t> used{0};        // kNotHome, the core's stamp at the last use, how often (4 bits)
  std::atomic<std::uint32_t> cost{0};        // of making the product, in 1024 ns: up to 73 minutes
  ObjectHead home;                           // counts the holders of a product that lives right behind it
};

inline constexpr std::uint32_t kFrequencyMax = 15;
// In `used`: no product lives in the slot. Always there where the type's products never do.
inline constexpr std::uint32_t kNotHome = 1u << 31;
inline constexpr std::uint32_t kStampBits = ~(kNotHome | kFrequencyMax);

// What the core must know of T.
struct TypeFacts {
  std::uint32_t home_offset = 0;  // from the slot's first byte; 0: T does not live in slots
  std::uint32_t home_size = 0;    // sizeof(T) if it does
  std::uint32_t slot_size = sizeof(Slot);
  void (*destroy)(void* value) noexcept = nullptr;
};

// One run of a maker: what it is given and what came of it.
struct Making {
  enum class End : std::uint8_t { made, failed, transient, out_of_resources };
  void* home = nullptr;  // room for a T in the slot, or null
  Slot* slot = nullptr;
  End end = End::failed;
  ObjectHead* object = nullptr;  // made: not yet held by anybody
  void* value = nullptr;
  std::uint64_t weight = 0;
  Error error{};
  std::exception_ptr exception;  // otherwise, when the maker threw
};

// Runs the user's maker that `frame` knows, and catches what it throws.
using MakerCall = void (*)(void* frame, Making& making);

// One request, by slot or by recipe.
struct Request {
  Slot* slot = nullptr;
  const Recipe* recipe = nullptr;
  MakerCall call = nullptr;
  void* frame = nullptr;
  const MakeOptions* options = nullptr;
  Answer* answer = nullptr;
};

// What a request got: an object that the caller now holds, or why not.
struct Product {
  ObjectHead* object = nullptr;
  void* value = nullptr;
  std::uint64_t weight = 0;
  Error error{};
  std::exception_ptr exception;
};

class LARDER_API MemoryCore {
 public:
  // Throws std::bad_alloc and std::invalid_argument.
  static MemoryCore* open(const MemoryOptions& options, const TypeFacts& facts);
  // The tier is gone. The core stays until nothing of it is held any more.
  void close() noexcept;

  Slot* intern(const Recipe& recipe);  // throws std::bad_alloc; the caller has a claim more
  static void add_claim(Slot* slot) noexcept;
  static void drop_claim(Slot* slot) noexcept;
  static std::string_view canonical(const Slot* slot) noexcept;
  static Key key(const Slot* slot) noexcept;
  // True for null, too.
  bool owns(const Slot* slot) const noexcept;
  static void finish(ObjectHead* object) noexcept;  // its last holder is gone

  // The slot of `recipe`, or null. The caller is pinned for as long as it uses the slot.
  Slot* find(const Recipe& recipe) const noexcept;
  Product get_or_make(const Request& request);
  void tell_hit(const Slot* slot) const noexcept;  // to those who listen
  // The product of a slot whose `used` was seen not to be fresh and at home, or null. The caller is pinned.
  void* look_closer(Slot& slot, std::uint32_t used) const noexcept;

  bool erase(Slot* slot) noexcept;
  bool erase(const Recipe& recipe) noexcept;
  bool set_pinned(Slot* slot, bool pinned) noexcept;
  void clear() noexcept;
  void relieve(Pressure pressure) noexcept;
  MemoryStats stats() const noexcept;

  // What a hit compares the slot's `used` with.
  std::uint32_t stamp() const noexcept { return stamp_.load(std::memory_order_relaxed); }
  Counters& counters() noexcept { return counters_; }
  inline void count_hit(Slot& slot) noexcept;

 protected:
  explicit MemoryCore(bool is_inner) : counters_(!is_inner), is_inner_(is_inner) {}
  ~MemoryCore() = default;

  // Moves on by 1 << 4 each time a small share of the products has been replaced.
  alignas(64) std::atomic<std::uint32_t> stamp_{1u << 4};
  Counters counters_;
  const bool is_inner_;
};

// `used` shows a use that is no news, kNotHome aside.
inline bool is_fresh(std::uint32_t used, std::uint32_t stamp) noexcept {
  return ((used ^ stamp) & ~kNotHome) <= kFrequencyMax;
}

// Says in the slot that it was used now, unless another says so at this moment. `used` is not fresh.
inline void renew(Slot& slot, std::uint32_t used, std::uint32_t stamp) noexcept {
  const std::uint32_t frequency = used & kFrequencyMax;
  slot.used.compare_exchange_strong(
      used, (used & kNotHome) | stamp | (frequency < kFrequencyMax ? frequency + 1 : frequency),
      std::memory_order_relaxed);
}

// Writes only when that is news.
inline void touch(Slot& slot, std::uint32_t stamp) noexcept {
  const std::uint32_t used = slot.used.load(std::memory_order_relaxed);
  if (!is_fresh(used, stamp)) [[unlikely]]
    renew(slot, used, stamp);
}

inline Nanoseconds cost_from(std::uint64_t units) noexcept {
  return Nanoseconds(static_cast<std::int64_t>(units << 10));
}
inline Nanoseconds cost_of(const Slot& slot) noexcept {
  return cost_from(slot.cost.load(std::memory_order_relaxed));
}

inline void MemoryCore::count_hit(Slot& slot) noexcept {
  touch(slot, stamp());
  counters_.count(Outcome::memory_hit, cost_of(slot));
  if (is_listened()) [[unlikely]]
    tell_hit(&slot);
}

inline void hold(ObjectHead& object) noexcept {
  object.holders.fetch_add(1, std::memory_order_relaxed);
}
inline void let_go(ObjectHead& object) noexcept {
  if (object.holders.fetch_sub(1, std::memory_order_acq_rel) == 1) [[unlikely]]
    MemoryCore::finish(&object);
}

}  // namespace detail
}  // namespace larder
