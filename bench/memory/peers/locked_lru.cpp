// Peer: std::unordered_map, an LRU list and one std::mutex around both: the plainest cache, and the design of
// most run-time compilers' program caches.
// Made as good as its design allows: the list runs through the map's own nodes, so a hit follows no second
// allocation; the most recent entry is not moved; and an insert into a full map re-uses the victim's node.
#include <mutex>
#include <unordered_map>

#include "bench/memory/harness.hpp"
#include "bench/memory/keys.hpp"

namespace larder::bench {
namespace {

template <class Key, class Hold>
class LockedLru {
 public:
  using Asked = typename Key::Asked;

  explicit LockedLru(std::size_t capacity) : capacity_(capacity) { map_.reserve(capacity + 1); }
  std::vector<Asked> make_keys(std::size_t count) { return Key::make_keys(count); }

  template <class Use>
  bool hit(const Asked& key, Use&& use) {
    decltype(auto) kept_key = Key::to_kept(key);
    std::unique_lock lock(mutex_);
    const auto found = map_.find(kept_key);
    if (found == map_.end()) return false;
    Node& node = found->second;
    if (newest_.older != &node) {
      unlink(node);
      link_newest(node);
    }
    Hold::use_locked(
        node.kept, [&] { lock.unlock(); }, use);
    return true;
  }

  void insert(const Asked& key, std::uint32_t index) {
    decltype(auto) kept_key = Key::to_kept(key);
    auto made = Hold::make(index);
    const std::lock_guard lock(mutex_);
    if (map_.find(kept_key) != map_.end()) return;
    if (map_.size() < capacity_) {
      const auto placed = map_.try_emplace(kept_key, std::move(made)).first;
      placed->second.key = &placed->first;
      link_newest(placed->second);
      return;
    }
    Node& victim = static_cast<Node&>(*newest_.newer);
    unlink(victim);
    auto handle = map_.extract(*victim.key);
    handle.key() = kept_key;
    handle.mapped().kept = std::move(made);
    link_newest(handle.mapped());
    map_.insert(std::move(handle));
  }

  std::size_t size() const { return map_.size(); }

 private:
  struct Links {
    Links* newer = this;
    Links* older = this;
  };
  struct Node : Links {
    explicit Node(typename Hold::Kept value) : kept(std::move(value)) {}
    typename Hold::Kept kept;
    const typename Key::Kept* key = nullptr;
  };

  static void unlink(Links& node) {
    node.newer->older = node.older;
    node.older->newer = node.newer;
  }
  void link_newest(Links& node) {
    node.older = newest_.older;
    node.newer = &newest_;
    node.older->newer = &node;
    newest_.older = &node;
  }

  std::size_t capacity_;
  std::mutex mutex_;
  std::unordered_map<typename Key::Kept, Node, typename Key::Hash> map_;
  Links newest_;  // older: the most recent entry; newer: the least recent, around the ring
};

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  using namespace larder::bench;
  return run_design("unordered_map+mutex+LRU", peer_forms<LockedLru>(), argc, argv);
}
