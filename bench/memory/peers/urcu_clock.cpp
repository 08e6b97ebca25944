// Peer: liburcu's lock-free hash table (cds_lfht) with a used bit per entry and one clock hand. Readers take
// no lock: a hit stands between rcu_read_lock and rcu_read_unlock, and evicted nodes are freed a grace period
// later. Nothing an application would reach for first, but the fastest reader that Debian packages.
#include <urcu/rculfhash.h>
#include <urcu/urcu-memb.h>

#include <atomic>
#include <mutex>

#include "bench/memory/harness.hpp"
#include "bench/memory/keys.hpp"

namespace larder::bench {
namespace {

// liburcu wants every thread that reads to say so once.
struct Registered {
  Registered() { urcu_memb_register_thread(); }
  ~Registered() { urcu_memb_unregister_thread(); }
};
void register_thread() {
  thread_local const Registered registered;
}

template <class Key, class Hold>
class UrcuClock {
 public:
  using Asked = typename Key::Asked;

  explicit UrcuClock(std::size_t capacity) : capacity_(capacity) {
    register_thread();
    std::size_t buckets = 1;
    while (buckets < capacity * 2) buckets *= 2;
    table_ = cds_lfht_new_flavor(buckets, buckets, buckets, 0, &urcu_memb_flavor, nullptr);
    ring_.reserve(capacity);
  }
  std::vector<Asked> make_keys(std::size_t count) { return Key::make_keys(count); }

  template <class Use>
  bool hit(const Asked& key, Use&& use) {
    register_thread();
    decltype(auto) kept_key = Key::to_kept(key);
    urcu_memb_read_lock();
    Node* const node = find(kept_key, typename Key::Hash{}(kept_key));
    if (node != nullptr) {
      if (!node->used.load(std::memory_order_relaxed)) node->used.store(true, std::memory_order_relaxed);
      Hold::use_locked(
          node->kept, [] {}, use);
    }
    urcu_memb_read_unlock();
    return node != nullptr;
  }

  void insert(const Asked& key, std::uint32_t index) {
    register_thread();
    decltype(auto) kept_key = Key::to_kept(key);
    const std::size_t hash = typename Key::Hash{}(kept_key);
    Node* const made = new Node(kept_key, Hold::make(index));
    const std::lock_guard lock(hand_mutex_);
    urcu_memb_read_lock();
    const bool is_new =
        cds_lfht_add_unique(table_, hash, &Node::matches, &made->key, &made->links) == &made->links;
    if (is_new && ring_.size() < capacity_) {
      ring_.push_back(made);
    } else if (is_new) {
      evict_for(made);
    }
    urcu_memb_read_unlock();
    if (!is_new) delete made;
  }

  std::size_t size() const { return ring_.size(); }

 private:
  struct Node {
    Node(const typename Key::Kept& k, typename Hold::Kept value) : key(k), kept(std::move(value)) {
      cds_lfht_node_init(&links);
    }
    static Node* of(cds_lfht_node* links) { return reinterpret_cast<Node*>(links); }
    static int matches(cds_lfht_node* links, const void* key) {
      return of(links)->key == *static_cast<const typename Key::Kept*>(key);
    }
    cds_lfht_node links;  // first, so that its address is the node's
    typename Key::Kept key;
    typename Hold::Kept kept;
    std::atomic<bool> used{false};
    rcu_head reclaim;
  };

  Node* find(const typename Key::Kept& key, std::size_t hash) {
    cds_lfht_iter iterator;
    cds_lfht_lookup(table_, hash, &Node::matches, &key, &iterator);
    cds_lfht_node* const links = cds_lfht_iter_get_node(&iterator);
    return links == nullptr ? nullptr : Node::of(links);
  }

  void evict_for(Node* made) {
    for (;;) {
      Node*& place = ring_[hand_];
      if (++hand_ == capacity_) hand_ = 0;
      if (place->used.exchange(false, std::memory_order_relaxed)) continue;
      cds_lfht_del(table_, &place->links);
      urcu_memb_call_rcu(&place->reclaim, [](rcu_head* head) {
        delete reinterpret_cast<Node*>(reinterpret_cast<char*>(head) - offsetof(Node, reclaim));
      });
      place = made;
      return;
    }
  }

  std::size_t capacity_;
  cds_lfht* table_ = nullptr;
  alignas(64) std::mutex hand_mutex_;
  std::vector<Node*> ring_;
  std::size_t hand_ = 0;
};

}  // namespace
}  // namespace larder::bench

int main(int argc, char** argv) {
  using namespace larder::bench;
  return run_design("liburcu lfht+clock", peer_forms<UrcuClock>(), argc, argv);
}
