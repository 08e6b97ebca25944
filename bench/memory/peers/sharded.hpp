// Peer: an abseil flat_hash_map cut into 64 shards, each with its own lock and its own clock hand.
// A hit sets its entry's used bit, and only when it is clear; the budget is one for all shards.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <array>
#include <atomic>

#include "bench/memory/harness.hpp"
#include "bench/memory/keys.hpp"

namespace larder::bench {

template <class Key, class Hold, class Lock>
class Sharded {
 public:
  using Asked = typename Key::Asked;

  explicit Sharded(std::size_t capacity) : capacity_(capacity) {
    for (Shard& shard : shards_) {
      shard.map.reserve(capacity / kShards + capacity / kShards / 4 + 16);
      shard.ring.reserve(capacity / kShards + capacity / kShards / 4 + 16);
    }
  }
  std::vector<Asked> make_keys(std::size_t count) { return Key::make_keys(count); }

  template <class Use>
  bool hit(const Asked& key, Use&& use) {
    decltype(auto) kept_key = Key::to_kept(key);
    const std::size_t hash = typename Key::Hash{}(kept_key);
    Shard& shard = shard_of(hash);
    std::unique_lock lock(shard.lock);
    const auto found = shard.map.find(kept_key, hash);
    if (found == shard.map.end()) return false;
    Slot& slot = found->second;
    if (!slot.used) slot.used = true;
    Hold::use_locked(
        slot.kept, [&] { lock.unlock(); }, use);
    return true;
  }

  void insert(const Asked& key, std::uint32_t index) {
    decltype(auto) kept_key = Key::to_kept(key);
    auto made = Hold::make(index);
    Shard& shard = shard_of(typename Key::Hash{}(kept_key));
    const std::lock_guard lock(shard.lock);
    if (!shard.map.try_emplace(kept_key, Slot{std::move(made), false}).second) return;
    // The whole budget is spent: the shard that grows gives one entry up.
    if (size_.load(std::memory_order_relaxed) >= capacity_ && !shard.ring.empty()) {
      shard.ring[evict(shard)] = kept_key;
    } else {
      size_.fetch_add(1, std::memory_order_relaxed);
      shard.ring.push_back(kept_key);
    }
  }

  std::size_t size() const { return size_.load(); }

 private:
  static constexpr std::size_t kShards = 64;
  struct Slot {
    typename Hold::Kept kept;
    bool used = false;
  };
  struct alignas(128) Shard {
    Lock lock;
    absl::flat_hash_map<typename Key::Kept, Slot, typename Key::Hash> map;
    std::vector<typename Key::Kept> ring;
    std::size_t hand = 0;
  };

  // The map takes its group from the hash's low bits, so the shard is taken from the high ones.
  Shard& shard_of(std::size_t hash) { return shards_[hash >> 58]; }

  // Returns the victim's place in the ring.
  std::size_t evict(Shard& shard) {
    for (;;) {
      const std::size_t place = shard.hand;
      shard.hand = place + 1 == shard.ring.size() ? 0 : place + 1;
      const auto candidate = shard.map.find(shard.ring[place]);
      if (candidate->second.used) {
        candidate->second.used = false;
        continue;
      }
      shard.map.erase(candidate);
      return place;
    }
  }

  std::size_t capacity_;
  alignas(128) std::atomic<std::size_t> size_{0};
  std::array<Shard, kShards> shards_;
};

}  // namespace larder::bench
