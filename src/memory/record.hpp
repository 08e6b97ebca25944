// A Record is the cold half of a slot: the recipe, the accounts of its product, and the links to others.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "larder/detail/memory_core.hpp"
#include "policy/policy.hpp"

namespace larder::detail {

struct Chunk;
struct Flight;

// The family of a product that is kept; links_mutex guards it. Those without parent and children, which are
// most, come and go without that mutex: theirs are the two words in front.
struct Family {
  // No product is kept here, so none is adopted.
  static Record* closed() noexcept { return reinterpret_cast<Record*>(std::uintptr_t{1}); }

  std::atomic<Record*> parent{nullptr};  // becomes null when all else of the link is undone
  std::atomic<Record*> first_child{closed()};
  Record* previous = nullptr;  // among the parent's children
  Record* next = nullptr;
  Record* next_doomed = nullptr;
  bool is_doomed = false;  // somebody is about to evict it for its parent, and has a claim
};

// Retired for the product that lives in its slot, and in the end for itself. The core's mutex guards what is
// not constant, atomic or said to be guarded by another. What coming and going touch stands in the first two
// lines.
struct alignas(64) Record : Retired {
  Record(Core& its_core, Slot& its_slot, Chunk* its_chunk, Key its_key, std::size_t size) noexcept
      : core(its_core), slot(its_slot), key(its_key), canonical_size(size), chunk(its_chunk) {}

  Core& core;
  Slot& slot;
  const Key key;

  const std::size_t canonical_size;
  std::atomic<std::uint64_t> weight{0};   // of the product
  std::atomic<std::uint64_t> cost_ns{0};  // of making it
  Flight* flight = nullptr;               // the making whose product will be kept
  std::atomic<std::uint32_t> claims{0};   // becomes 0 under the mutex only
  std::uint32_t objects = 0;              // that live in the slot, or know it
  bool is_kept = false;                   // its product is in the slot
  bool is_shown = false;                  // to readers, since its first product was kept
  bool is_idle = false;           // claimed without a product: its bytes are among the core's idle ones
  bool home_is_taken = false;     // by an object, or for one in the making
  Reason left = Reason::absent;   // why no product is kept
  policy::Id id = policy::kNoId;  // while its product is kept
  Family family;
  Chunk* const chunk;  // where the slot came from

  std::string_view canonical() const noexcept {
    return {reinterpret_cast<const char*>(this + 1), canonical_size};
  }
  std::string_view kind() const noexcept;
};

// The record, with the recipe's bytes behind it, and its slot. Throws std::bad_alloc.
Record* make_record(Core& core, void* slot_memory, Chunk* chunk, Key key, std::string_view canonical);
// Frees the record; the slot's memory goes back to its pool.
void free_record(Record* record) noexcept;

}  // namespace larder::detail
