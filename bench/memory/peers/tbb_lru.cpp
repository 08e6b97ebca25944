// Peer: tbb::concurrent_hash_map with one LRU list. A hit moves its entry only when the list's lock is free
// at that moment, so that hits never queue for the list; readers of one entry share its lock.
#include <tbb/concurrent_hash_map.h>
#include <tbb/spin_mutex.h>

#include <atomic>

#include "bench/memory/harness.hpp"
#include "bench/memory/keys.hpp"

namespace larder::bench {
namespace {

template <class Key, class Hold>
class TbbLru {
  struct Links {
    Links* newer = this;
    Links* older = this;
  };
  struct Node : Links {
    explicit Node(typename Hold::Kept value) : kept(std::move(value)) {}
    typename Hold::Kept kept;
    const typename Key::Kept* key = nullptr;
    bool listed = false;  // under list_lock_; an evicted node may still be in a reader's hands
  };
  struct HashCompare {
    static std::size_t hash(const typename Key::Kept& key) { return typename Key::Hash{}(key); }
    static bool equal(const typename Key::Kept& a, const typename Key::Kept& b) { return a == b; }
  };
  using Map = tbb::concurrent_hash_map<typename Key::Kept, Node, HashCompare>;

 public:
  using Asked = typename Key::Asked;

  explicit TbbLru(std::size_t capacity) : capacity_(capacity), map_(capacity) {}
  std::vector<Asked> make_keys(std::size_t count) { return Key::make_keys(count); }

  template <class Use>
  bool hit(const Asked& key, Use&& use) {
    typename Map::const_accessor entry;
    if (!map_.find(entry, Key::to_kept(key))) return false;
    Node& node = const_cast<Node&>(entry->second);  // its links belong to the list's lock, not the entry's
    {
      tbb::spin_mutex::scoped_lock lock;
      if (lock.try_acquire(list_lock_) && node.listed && newest_.older != &node) {
        unlink(node);
        link_newest(node);
      }
    }
    Hold::use_locked(
        node.kept, [&] { entry.release(); }, use);
    return true;
  }

  void insert(const Asked& key, std::uint32_t index) {
    auto made = Hold::make(index);
    {
      typename Map::accessor entry;
      if (!map_.emplace(entry, std::piecewise_construct, std::forward_as_tuple(Key::to_kept(key)),
                        std::forward_as_tuple(std::move(made)))) {
        return;
      }
      Node& node = entry->second;
      node.key = &entry->first;
      const tbb::spin_mutex::scoped_lock lock(list_lock_);
      link_newest(node);
      node.listed = true;
    }
    if (size_.fetch_add(1, std::memory_order_relaxed) >= capacity_) evict_oldest();
  }

  std::size_t size() const { return size_.load(); }

 private:
  void evict_oldest() {
    typename Key::Kept victim{};
    {
      const tbb::spin_mutex::scoped_lock lock(list_lock_);
      if (newest_.newer == &newest_) return;
      Node& node = static_cast<Node&>(*newest_.newer);
      unlink(node);
      node.listed = false;
      victim = *node.key;
    }
    if (map_.erase(victim)) size_.fetch_sub(1, std::memory_order_relaxed);
  }

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
  Map map_;
  alignas(64) std::atomic<std::size_t> size_{0};
  alignas(64) tbb::spin_mutex list_lock_;
  Links newest_;
};

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  using namespace larder::bench;
  return run_design("tbb concurrent_hash_map+LRU", peer_forms<TbbLru>(), argc, argv);
}
