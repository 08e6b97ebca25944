// Places finds, by key, the place where an owner keeps a record: a hash table of 32-bit places that holds
// half of each key's hash, and asks the owner for the key at a place where that is the same. Open addressing,
// at most two thirds full. One thread at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/sample.hpp"

namespace larder::policy {

class Places {
 public:
  static constexpr std::uint32_t kNone = 0xffffffff;

  // Empties it, and makes it fit for `count_max` keys.
  void reset(std::size_t count_max) {
    slots_.assign(count_max == 0 ? 0 : std::bit_ceil(count_max + count_max / 2 + 2), Slot{});
    slots_.shrink_to_fit();
  }

  // kNone when the key has no place.
  template <typename KeyAt>
  std::uint32_t find(std::uint64_t key, const KeyAt& key_at) const {
    return slots_.empty() ? kNone : slots_[slot_of(key, key_at)].place;
  }

  // Asks memory for where the key stands or would.
  void prefetch(std::uint64_t key) const noexcept {
    if (!slots_.empty()) __builtin_prefetch(&slots_[home(hash_of(key))], 1);
  }

  // The key has no place yet; key_at(place) gives it already or not, as the owner likes.
  template <typename KeyAt>
  void insert(std::uint64_t key, std::uint32_t place, const KeyAt& key_at) {
    slots_[slot_of(key, key_at)] = {place, hash_of(key)};
  }

  // The key has a place, and key_at gives it still. What stood behind it and would no longer be found moves
  // up.
  template <typename KeyAt>
  void remove(std::uint64_t key, const KeyAt& key_at) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t hole = slot_of(key, key_at);
    for (std::size_t at = (hole + 1) & mask; slots_[at].place != kNone; at = (at + 1) & mask) {
      const std::size_t wanted = home(slots_[at].hash);
      if (((at - wanted) & mask) >= ((at - hole) & mask)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole] = {};
  }

  std::size_t memory_bytes() const noexcept { return slots_.capacity() * sizeof(Slot); }

 private:
  struct Slot {
    std::uint32_t place = kNone;
    std::uint32_t hash = 0;
  };

  static std::uint32_t hash_of(std::uint64_t key) noexcept { return static_cast<std::uint32_t>(mix(key)); }
  std::size_t home(std::uint32_t hash) const noexcept { return hash & (slots_.size() - 1); }

  // The slot of the key, or the free one where it would stand.
  template <typename KeyAt>
  std::size_t slot_of(std::uint64_t key, const KeyAt& key_at) const {
    const std::uint32_t hash = hash_of(key);
    std::size_t slot = home(hash);
    while (slots_[slot].place != kNone && (slots_[slot].hash != hash || key_at(slots_[slot].place) != key)) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    return slot;
  }

  std::vector<Slot> slots_;
};

}  // namespace larder::policy
