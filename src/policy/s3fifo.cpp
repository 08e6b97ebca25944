#include "policy/s3fifo.hpp"

#include <algorithm>
#include <new>

namespace larder::policy {
namespace {

constexpr std::uint8_t kUsesMax = 3;
constexpr std::uint8_t kUsesToMain = 2;

}  // namespace

// What the queues share: the tier's limit, or what is there when it has none.
std::uint64_t S3Fifo::room() const noexcept {
  if (limits_.bytes != 0) return limits_.bytes;
  return limits_.entries != 0 ? limits_.entries : small_held_ + main_held_;
}

void S3Fifo::do_insert(Id id, const Entry& entry, Past) {
  links_.reach(id);
  if (id >= known_.size()) known_.resize(links_.of.size());
  const Queue queue = take_remembered(entry.key) ? Queue::main : Queue::small;
  known_[id] = {entry.key, measure(entry.weight), queue, 0};
  list(queue).push_front(links_, id);
  held(queue) += known_[id].weight;
}

void S3Fifo::do_touch(Id id, Touch touch) {
  const std::uint32_t uses = more(known_[id].uses, touch.uses);
  known_[id].uses = static_cast<std::uint8_t>(std::min<std::uint32_t>(uses, kUsesMax));
}

void S3Fifo::do_reweigh(Id id, std::uint64_t weight, std::uint64_t) {
  Known& known = known_[id];
  held(known.queue) += measure(weight) - known.weight;
  known.weight = measure(weight);
}

void S3Fifo::do_remove(Id id, Departure departure) {
  const Known& known = known_[id];
  list(known.queue).remove(links_, id);
  held(known.queue) -= known.weight;
  if (departure == Departure::evicted && known.queue == Queue::small) remember(known);
}

// Both queues may hold pinned entries only where they were asked; the other one then answers.
Id S3Fifo::do_victim() {
  const bool main_first = main_held_ > room() - room() / 10 || small_.empty();
  if (!main_first) {
    if (const Id id = small_victim(); id != kNoId) return id;
  }
  if (const Id id = main_victim(); id != kNoId) return id;
  return small_victim();
}

// From the oldest on: what was used goes to main, the first that was not is the victim.
Id S3Fifo::small_victim() {
  for (Id id = small_.back; id != kNoId;) {
    const Id newer = links_.of[id].before;
    Known& known = known_[id];
    if (!is_pinned(id)) {
      if (known.uses < kUsesToMain) return id;
      small_.remove(links_, id);
      small_held_ -= known.weight;
      known.queue = Queue::main;
      known.uses = 0;
      main_.push_front(links_, id);
      main_held_ += known.weight;
    }
    id = newer;
  }
  return kNoId;
}

Id S3Fifo::main_victim() {
  for (bool moved = true; moved;) {
    moved = false;
    for (Id id = main_.back; id != kNoId;) {
      const Id newer = links_.of[id].before;
      if (!is_pinned(id)) {
        if (known_[id].uses == 0) return id;
        --known_[id].uses;
        main_.remove(links_, id);
        main_.push_front(links_, id);
        moved = true;
      }
      id = newer;
    }
  }
  return kNoId;
}

// The keys that left hold as much as main may. Without memory for it a key is forgotten at once.
void S3Fifo::remember(const Known& known) try {
  left_.push_back({known.key, known.weight, ++turn_});
  left_held_ += known.weight;
  turn_of_[known.key] = turn_;
  while (left_held_ > room() - room() / 10 && !left_.empty()) {
    const Left& oldest = left_.front();
    if (const auto found = turn_of_.find(oldest.key);
        found != turn_of_.end() && found->second == oldest.turn) {
      turn_of_.erase(found);
    }
    left_held_ -= oldest.weight;
    left_.pop_front();
  }
} catch (const std::bad_alloc&) {
}

bool S3Fifo::take_remembered(std::uint64_t key) {
  return turn_of_.erase(key) != 0;
}

std::size_t S3Fifo::do_memory_bytes() const noexcept {
  constexpr std::size_t kNode = 48;  // a node and its bucket, about
  return links_.memory_bytes() + known_.capacity() * sizeof(Known) + left_.size() * sizeof(Left) +
         turn_of_.size() * kNode;
}

}  // namespace larder::policy
