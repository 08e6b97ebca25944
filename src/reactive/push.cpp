// A batch becomes a revision, and live nodes are brought up to date before anyone asks: dirty ones wait in a
// queue by height, the lowest runs first, so that each runs at most once and only after all it reads has
// settled. A node whose value comes out the same queues nobody.
//
// A dirty node that its consumers may not ask for any more is put off: the consumers run first and make it if
// they do ask. That is so where they are dirty themselves, or about to find out, for the sake of something
// they ask for earlier. To keep such runs shallow a push puts off kPutOffMax nodes and no more; any further
// one runs at its level, at worst in vain.
#include "larder/graph.hpp"
#include "reactive/engine.hpp"

namespace larder::reactive {

using namespace larder::detail;

namespace {

constexpr unsigned kPutOffMax = 32;
constexpr std::uint32_t kLookedAtMax = 8;

}  // namespace

// Takes the value over.
void Engine::set(NodeId id, Word value, bool is_failed) {
  Node& node = this->node(id);
  if (is_equal(node, value, is_failed)) {
    if (value != 0 && (is_failed || function(node).spec.value.is_boxed)) release(value);
    return;
  }
  if (!has_changes_) next_revision();
  has_changes_ = true;
  drop_value(node);
  node.value.store(value, std::memory_order_release);
  if (is_failed)
    node.set(kFailed);
  else
    node.clear(kFailed);
  changed(id);
  if (is_failed && node.count(kSup) == 0) idle_.push_back(id);
}

void Engine::next_revision() {
  ++revision_;
  if (++push == 0) {  // all stamps are as old as can be
    for (NodeId id = 0; id < node_count_; ++id) node(id).settled = 0;
    push = 1;
  }
  put_off_ = 0;
  std::vector<NodeId> reruns;
  reruns.swap(reruns_);
  for (const NodeId id : reruns) {
    Node& node = this->node(id);
    if (!node.has(kVolatile)) continue;
    node.clear(kVolatile);
    mark_dirty(id);
  }
  reruns.clear();
  if (reruns_.empty()) reruns_.swap(reruns);  // keeps its memory
}

bool Engine::may_put_off(NodeId id, Node& node) {
  if (is_parallel || put_off_ >= kPutOffMax || node.has(kExtra)) return false;
  const std::uint32_t count = node.count(kSup);
  if (count > kLookedAtMax) return false;
  const Edge* const sups = node.edge(kSup);
  std::uint32_t later = kNoFloor;
  bool all_are_dirty = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    Node& user = this->node(sups[i].node);
    if (sups[i].back == 0 || user.live == 0) return false;
    if (user.condition() == kDirty) continue;
    all_are_dirty = false;
    // Is something that it asks for earlier still to be made?
    std::uint32_t earlier = 0;
    const Edge* const subs = user.edge(kSub);
    for (std::uint32_t j = 0; j < sups[i].back && j < kLookedAtMax; ++j) {
      const Node& used = this->node(subs[j].node);
      if (used.condition() == kDirty && used.has(kQueued) && used.height >= node.height &&
          used.height > earlier)
        earlier = used.height;
    }
    if (earlier == 0) return false;
    later = earlier < later ? earlier : later;  // below any consumer that looks up to date
  }
  ++put_off_;
  if (all_are_dirty) return true;
  node.set(kQueued);
  later_.push(later, id, node);
  return true;
}

// As ensure, for what is known to be dirty and at the bottom of the stack.
void Engine::run_dirty(Evaluator& evaluator, NodeId id, Node& node) {
  if (is_cancelled(evaluator)) [[unlikely]] {
    enqueue(id, node);
    throw Unwind{};
  }
  node.set(kBusy);
  Frame frame;
  frame.node = id;
  evaluator.stack.push_back(frame);
  const bool is_done = execute(evaluator, id);
  node.clear(kBusy);
  evaluator.stack.pop_back();
  if (is_parallel) left_.notify_all();
  if (is_done) [[likely]]
    return;
  if (!evaluator.new_heads.empty()) {
    enqueue(id, node);
    solve(evaluator);
  }
  const NodeId missing = std::exchange(evaluator.suspended_on, kNoNode);
  if (missing != kNoNode) {
    pin(missing);
    evaluator.pinned.push_back(missing);
    // Kept in the queue while it waits: should this be given up, it must not be lost. I5
    enqueue(id, node);
    ensure(evaluator, missing, true);
  }
  ensure(evaluator, id, false);
}

// A queued node, at its level.
void Engine::push_one(Evaluator& evaluator, NodeId id) {
  Node& node = this->node(id);
  node.clear(kQueued);
  while (node.has(kBusy)) wait_for(evaluator, id);
  if (node.condition() != kDirty) return;
  if (node.live == 0) return mark_consumers_stale(id);
  if (node.height > floor) return enqueue(id, node);
  evaluator.pushed = id;
  try {
    run_dirty(evaluator, id, node);
  } catch (const Unwind&) {
    evaluator.pushed = kNoNode;
    evaluator.is_unwinding = false;
    if (node.live != 0 || is_superseded(evaluator) || evaluator.gives_way_to != nullptr) throw;
    mark_consumers_stale(id);  // nobody wants it any more
  }
  evaluator.pushed = kNoNode;
}

// The next node of the level, kNoNode where it was put off.
NodeId Engine::take_queued(Levels& queue, std::uint32_t level) {
  const NodeId id = queue.first(level);
  Node& node = this->node(id);
  queue.pop(level, node);
  const bool is_due =
      node.condition() == kDirty && node.live != 0 && node.height <= level && !node.has(kBusy);
  if (!is_due || (!has_queued() && node.count(kSup) <= 1)) return id;
  node.clear(kQueued);
  if (may_put_off(id, node)) return kNoNode;
  node.set(kQueued);
  return id;
}

// False: a newer revision waits; what is left stays queued.
bool Engine::push_changes(Evaluator& evaluator) {
  std::vector<NodeId> all;  // of the level, where functions run side by side
  while (has_queued()) {
    // What was put off until a level comes after all of that level.
    const bool is_later = !later_.empty() && (queue_.empty() || later_.lowest() < queue_.lowest());
    Levels& queue = is_later ? later_ : queue_;
    const std::uint32_t level = queue.lowest();
    floor = level;
    const NodeId first = take_queued(queue, level);
    if (first == kNoNode) continue;
    all.clear();
    while (is_parallel && !queue.empty() && queue.lowest() == level) {
      if (all.empty()) all.push_back(first);
      all.push_back(take_queued(queue, level));
    }
    try {
      if (all.empty())
        push_one(evaluator, first);
      else if (!push_level(evaluator, all))
        return false;
    } catch (const Unwind&) {
      evaluator.is_unwinding = false;
      if (evaluator.gives_way_to == nullptr) return false;
      give_way(evaluator);
    }
  }
  return true;
}

}  // namespace larder::reactive
