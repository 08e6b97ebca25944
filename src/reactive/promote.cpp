// How a change goes on: consumers become dirty, live ones are queued by height, and what lies above lazy ones
// becomes stale. Here too: heights and liveness. All of it walks with a list of its own, never by recursion.
#include "reactive/engine.hpp"

namespace larder::reactive {

using namespace larder::detail;

// The node came out different from what its consumers read.
void Engine::changed(NodeId id) {
  Node& node = this->node(id);
  if (node.has(kExtra)) announce(id);
  const std::uint32_t count = node.count(kSup);
  const Edge* const sups = node.edge(kSup);
  for (std::uint32_t i = 0; i < count; ++i) mark_dirty(sups[i].node);
}

void Engine::mark_dirty(NodeId id) {
  Node& node = this->node(id);
  const std::uint8_t before = node.condition();
  if (before != kAbsent) node.become(kDirty);
  if (node.live != 0) {
    if (!node.has(kBusy)) enqueue(id, node);
  } else if (before == kClean && node.count(kSup) != 0) {
    mark_consumers_stale(id);
  }
}

// I5: above a lazy node that is not clean no lazy node is. A live node has no lazy dependency.
void Engine::mark_consumers_stale(NodeId id) {
  const std::size_t base = work_.size();
  work_.push_back(id);
  while (work_.size() > base) {
    Node& node = this->node(work_.back());
    work_.pop_back();
    const std::uint32_t count = node.count(kSup);
    const Edge* const sups = node.edge(kSup);
    for (std::uint32_t i = 0; i < count; ++i) {
      Node& above = this->node(sups[i].node);
      if (above.condition() != kClean || above.live != 0) continue;
      above.become(kStale);
      if (above.count(kSup) != 0) work_.push_back(sups[i].node);
    }
  }
}

// I2, after the node's height rose.
void Engine::raise(NodeId id) {
  const std::size_t base = work_.size();
  work_.push_back(id);
  while (work_.size() > base) {
    const NodeId low = work_.back();
    work_.pop_back();
    Node& node = this->node(low);
    const std::uint32_t count = node.count(kSup);
    const Edge* const sups = node.edge(kSup);
    for (std::uint32_t i = 0; i < count; ++i) {
      Node& above = this->node(sups[i].node);
      if (above.height > node.height) continue;
      above.height = node.height + 1;
      work_.push_back(sups[i].node);
    }
  }
}

void Engine::live_up(NodeId id) {
  const std::size_t base = work_.size();
  work_.push_back(id);
  while (work_.size() > base) {
    const NodeId up = work_.back();
    work_.pop_back();
    Node& node = this->node(up);
    if (node.live++ != 0) continue;
    const std::uint32_t count = node.count(kSub);
    const Edge* const subs = node.edge(kSub);
    for (std::uint32_t i = 0; i < count; ++i) work_.push_back(subs[i].node);
    // What was put off, or left unfinished by a run that gave up, is the push's from now on.
    if (node.condition() == kDirty && !node.has(kBusy)) enqueue(up, node);
  }
}

void Engine::live_down(NodeId id) {
  const std::size_t base = work_.size();
  work_.push_back(id);
  while (work_.size() > base) {
    const NodeId down = work_.back();
    work_.pop_back();
    Node& node = this->node(down);
    if (--node.live != 0) continue;
    if (is_pushing_ && !has_dropped_) {
      has_dropped_ = true;
      summons.fetch_add(kHasDropped);
    }
    const std::uint32_t count = node.count(kSub);
    const Edge* const subs = node.edge(kSub);
    for (std::uint32_t i = 0; i < count; ++i) work_.push_back(subs[i].node);
    if (node.condition() == kDirty) mark_consumers_stale(down);
  }
}

}  // namespace larder::reactive
