// Peer: boost::concurrent_flat_map with a used bit per entry and one clock hand. A hit visits its entry under
// the shared lock of the entry's group and sets the bit only when it is clear; nothing else is written but
// that lock.
#include <boost/unordered/concurrent_flat_map.hpp>

#include <atomic>
#include <mutex>

#include "bench/memory/harness.hpp"
#include "bench/memory/keys.hpp"

namespace larder::bench {
namespace {

template <class Key, class Hold>
class BoostFlat {
 public:
  using Asked = typename Key::Asked;

  explicit BoostFlat(std::size_t capacity) : capacity_(capacity), map_(capacity + 1) {
    ring_.reserve(capacity);
  }
  std::vector<Asked> make_keys(std::size_t count) { return Key::make_keys(count); }

  template <class Use>
  bool hit(const Asked& key, Use&& use) {
    if constexpr (std::is_same_v<Hold, Shared>) {
      std::shared_ptr<const Value> held;
      const bool found = map_.cvisit(Key::to_kept(key), [&](const auto& entry) {
        mark(entry.second);
        held = entry.second.kept;
      }) != 0;
      if (found) use(*held);
      return found;
    } else {
      return map_.cvisit(Key::to_kept(key), [&](const auto& entry) {
        mark(entry.second);
        Hold::use_locked(
            entry.second.kept, [] {}, use);
      }) != 0;
    }
  }

  void insert(const Asked& key, std::uint32_t index) {
    decltype(auto) kept_key = Key::to_kept(key);
    if (!map_.emplace(kept_key, Slot(Hold::make(index)))) return;
    const std::lock_guard lock(hand_mutex_);
    if (ring_.size() < capacity_) {
      ring_.push_back(kept_key);
      return;
    }
    for (;;) {
      typename Key::Kept& candidate = ring_[hand_];
      if (++hand_ == capacity_) hand_ = 0;
      const auto unused = [](const auto& entry) {
        return !entry.second.used.exchange(false, std::memory_order_relaxed);
      };
      if (map_.erase_if(candidate, unused) != 0) {
        candidate = kept_key;
        return;
      }
    }
  }

  std::size_t size() const { return map_.size(); }

 private:
  struct Slot {
    explicit Slot(typename Hold::Kept value) : kept(std::move(value)) {}
    Slot(Slot&& other) noexcept
        : kept(std::move(other.kept)), used(other.used.load(std::memory_order_relaxed)) {}
    typename Hold::Kept kept;
    mutable std::atomic<bool> used{false};
  };
  static void mark(const Slot& slot) {
    if (!slot.used.load(std::memory_order_relaxed)) slot.used.store(true, std::memory_order_relaxed);
  }

  std::size_t capacity_;
  boost::concurrent_flat_map<typename Key::Kept, Slot, typename Key::Hash> map_;
  alignas(64) std::mutex hand_mutex_;
  std::vector<typename Key::Kept> ring_;
  std::size_t hand_ = 0;
};

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  using namespace larder::bench;
  return run_design("boost concurrent_flat_map+clock", peer_forms<BoostFlat>(), argc, argv);
}
