// Ghosts remember what was evicted: key, frequency, cost and last use, of the last so many, oldest forgotten
// first. They tell a miss that bigger limits would have spared from one that nothing could have, and give an
// entry that comes back its frequency again. One thread at a time. All calls O(1), 24 bytes a ghost and 16
// for the index.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "policy/places.hpp"
#include "policy/policy.hpp"

namespace larder::policy {

struct Ghost {
  std::uint64_t key = 0;
  Tick when = 0;           // its last use
  std::uint32_t uses = 0;  // never 0 in a ghost that is remembered
  float cost = 0;          // nanoseconds
};

class Ghosts {
 public:
  // Remembers `count_max` ghosts at most; 0 remembers none.
  explicit Ghosts(std::size_t count_max);

  // Replaces what was known of the same key.
  void remember(const Ghost& ghost);
  // Null when the key is not remembered. Valid until the next call that changes anything.
  const Ghost* find(std::uint64_t key) const noexcept;
  // Asks memory for what remember() will touch.
  void prefetch(std::uint64_t key) const noexcept;
  // Finds and forgets.
  std::optional<Ghost> take(std::uint64_t key);
  // One that find() named.
  void forget(const Ghost& found) { forget(static_cast<std::uint32_t>(&found - ring_.data())); }
  void clear();
  // O(count). Where fewer fit than are remembered the oldest are forgotten.
  void resize(std::size_t count_max);

  std::size_t size() const noexcept { return size_; }
  std::size_t count_max() const noexcept { return ring_.size(); }
  std::size_t memory_bytes() const noexcept {
    return ring_.capacity() * sizeof(Ghost) + index_.memory_bytes();
  }

  // Oldest first: remembering them in this order elsewhere makes an equal memory.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = 0; i < ring_.size(); ++i) {
      const Ghost& ghost = ring_[next_ + i < ring_.size() ? next_ + i : next_ + i - ring_.size()];
      if (ghost.uses != 0) visit(ghost);
    }
  }

 private:
  void forget(std::uint32_t place);

  std::vector<Ghost> ring_;  // uses == 0: nobody here
  Places index_;             // in the ring
  std::size_t next_ = 0;     // the place written next, which holds the oldest
  std::size_t size_ = 0;
};

}  // namespace larder::policy
