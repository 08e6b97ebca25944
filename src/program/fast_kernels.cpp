#include "larder/detail/fast_kernels.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <unordered_map>
#include <utility>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/epoch.hpp"
#include "base/fork_list.hpp"
#include "base/mutex.hpp"

namespace larder::detail {
namespace {

// Handles and constants are mostly one word, for which a call costs more than the work.
std::uint64_t word_at(const std::byte* at) noexcept {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

std::uint64_t mix(std::uint64_t hash, BytesView bytes) noexcept {
  if (bytes.size() == sizeof hash) {
    hash = (hash ^ word_at(bytes.data())) * 0x9e3779b97f4a7c15;
    return hash ^ (hash >> 32);
  }
  return bytes.empty() ? hash : XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash);
}

bool is_equal(BytesView a, BytesView b) noexcept {
  if (a.size() != b.size()) return false;
  if (a.size() == sizeof(std::uint64_t)) return word_at(a.data()) == word_at(b.data());
  return a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0;
}

struct Query {
  std::uint64_t image;
  BytesView device;
  BytesView constants;
  BytesView name;

  std::uint64_t hash() const noexcept {
    return XXH3_64bits_withSeed(name.data(), name.size(), mix(mix(image, device), constants));
  }
};

// Never changes once a bucket shows it, but for `next`, which only skips what was unlinked.
struct Node : Retired {
  Node(const Query& query, std::uint64_t with_hash, const void* with_owner, std::shared_ptr<const void> at)
      : hash(with_hash), owner(with_owner), image(query.image), place(std::move(at)) {
    text.reserve(query.device.size() + query.constants.size() + query.name.size());
    text.append(as_text(query.device)).append(as_text(query.constants)).append(as_text(query.name));
    const BytesView all = as_bytes(text);
    device = all.first(query.device.size());
    constants = all.subspan(device.size(), query.constants.size());
    name = all.subspan(device.size() + constants.size());
  }

  bool answers(const Query& query, std::uint64_t with_hash) const noexcept {
    return hash == with_hash && image == query.image && is_equal(name, query.name) &&
           is_equal(device, query.device) && is_equal(constants, query.constants);
  }

  std::atomic<Node*> next_node{nullptr};
  std::uint64_t hash;
  const void* owner;
  std::uint64_t image;
  BytesView device;
  BytesView constants;
  BytesView name;
  std::shared_ptr<const void> place;
  std::string text;
};

void destroy(Retired* retired) noexcept {
  delete static_cast<Node*>(retired);
}

}  // namespace

struct FastKernels::State {
  using Link = std::atomic<Node*>;

  using Buckets = std::array<Link, kBuckets>;

  ~State() { delete buckets.load(std::memory_order_relaxed); }

  // Null: nothing was ever added. Then there are none, since many a program cache has no kernels.
  Link* bucket_of(std::uint64_t hash) noexcept {
    Buckets* const all = buckets.load(std::memory_order_acquire);
    return all == nullptr ? nullptr : &(*all)[hash % kBuckets];
  }
  Buckets& made_buckets() REQUIRES(mutex) {
    if (buckets.load(std::memory_order_relaxed) == nullptr) {
      buckets.store(new Buckets{}, std::memory_order_release);
    }
    return *buckets.load(std::memory_order_relaxed);
  }

  // Takes the node that `link` shows out of its chain. Returns the link, which now shows the next one.
  void unlink(Link& link, bool tells_owners) REQUIRES(mutex) {
    Node* const node = link.load(std::memory_order_relaxed);
    link.store(node->next_node.load(std::memory_order_relaxed), std::memory_order_release);
    if (tells_owners) {
      const auto [first, last] = owners.equal_range(node->owner);
      for (auto each = first; each != last; ++each) {
        if (each->second == node->hash) {
          owners.erase(each);
          break;
        }
      }
    }
    count.fetch_sub(1, std::memory_order_relaxed);
    bin.retire(*node, sizeof *node, destroy);
  }

  // What no reader holds any more; to be dropped without the lock. Looking for readers is dear, so some wait.
  Retired* collect() REQUIRES(mutex) {
    constexpr std::size_t kWaitMax = 32;
    if (bin.pending() < kWaitMax) return nullptr;
    bin.close();
    return bin.take_ripe(oldest_reader());
  }

  friend class ForkList<State, 4>;
  void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex.lock(); }
  void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex.unlock(); }
  void in_child() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex.unlock(); }

  std::atomic<Buckets*> buckets{nullptr};
  std::atomic<std::size_t> count{0};
  Mutex mutex;
  Bin bin GUARDED_BY(mutex);
  std::unordered_multimap<const void*, std::uint64_t> owners GUARDED_BY(mutex);  // to the hashes of its nodes
  ForkList<State, 4>::Place fork_place{*this};
};

FastKernels::FastKernels() : state_(std::make_unique<State>()) {}

// Nobody finds anything here any more, so whatever is left goes at once; a reader elsewhere delays only what
// was retired before.
FastKernels::~FastKernels() {
  Retired* ripe = nullptr;
  {
    MutexLock lock(state_->mutex);
    if (State::Buckets* const all = state_->buckets.load(std::memory_order_relaxed)) {
      for (State::Link& bucket : *all) {
        while (bucket.load(std::memory_order_relaxed) != nullptr) state_->unlink(bucket, false);
      }
    }
    state_->bin.close();
    // No reader is left by contract: the newest stamp is ripe.
    ripe = state_->bin.take_ripe(~std::uint64_t{0});
  }
  drop_all(ripe);
}

const void* FastKernels::find(std::uint64_t image, BytesView device, BytesView constants,
                              BytesView name) const noexcept {
  const Query query{image, device, constants, name};
  const std::uint64_t hash = query.hash();
  const State::Link* const bucket = state_->bucket_of(hash);
  const Node* node = bucket == nullptr ? nullptr : bucket->load(std::memory_order_acquire);
  for (; node != nullptr; node = node->next_node.load(std::memory_order_acquire)) {
    if (node->answers(query, hash)) return node->place.get();
  }
  return nullptr;
}

void FastKernels::add(const void* owner, std::uint64_t image, BytesView device, BytesView constants,
                      BytesView name, std::shared_ptr<const void> place) {
  const Query query{image, device, constants, name};
  const std::uint64_t hash = query.hash();
  auto node = std::make_unique<Node>(query, hash, owner, std::move(place));
  Retired* ripe = nullptr;
  {
    MutexLock lock(state_->mutex);
    State::Link& bucket = state_->made_buckets()[hash % kBuckets];
    state_->owners.emplace(owner, hash);
    std::size_t behind = 0;
    for (State::Link* link = &bucket; Node* each = link->load(std::memory_order_relaxed);) {
      if (each->answers(query, hash) || behind + 1 == kBucketMax) {
        state_->unlink(*link, true);
      } else {
        link = &each->next_node;
        ++behind;
      }
    }
    node->next_node.store(bucket.load(std::memory_order_relaxed), std::memory_order_relaxed);
    bucket.store(node.release(), std::memory_order_release);
    state_->count.fetch_add(1, std::memory_order_relaxed);
    ripe = state_->collect();
  }
  drop_all(ripe);
}

void FastKernels::erase(std::uint64_t image, BytesView device, BytesView constants, BytesView name) noexcept {
  const Query query{image, device, constants, name};
  const std::uint64_t hash = query.hash();
  Retired* ripe = nullptr;
  {
    MutexLock lock(state_->mutex);
    State::Link* link = state_->bucket_of(hash);
    while (Node* node = link == nullptr ? nullptr : link->load(std::memory_order_relaxed)) {
      if (node->answers(query, hash)) {
        state_->unlink(*link, true);
        break;
      }
      link = &node->next_node;
    }
    ripe = state_->collect();
  }
  drop_all(ripe);
}

void FastKernels::forget(const void* owner) noexcept {
  Retired* ripe = nullptr;
  {
    MutexLock lock(state_->mutex);
    const auto [first, last] = state_->owners.equal_range(owner);
    if (first == last) return;
    for (auto each = first; each != last; ++each) {
      State::Link* link = state_->bucket_of(each->second);  // it was added
      while (Node* node = link->load(std::memory_order_relaxed)) {
        if (node->owner == owner && node->hash == each->second) {
          state_->unlink(*link, false);
        } else {
          link = &node->next_node;
        }
      }
    }
    state_->owners.erase(first, last);
    ripe = state_->collect();
  }
  drop_all(ripe);
}

std::size_t FastKernels::size() const noexcept {
  return state_->count.load(std::memory_order_relaxed);
}

}  // namespace larder::detail
