// Is a node up to date? The pull: from what is asked for to what it depends on, on a stack of its own, so
// that the depth of a graph never meets the depth of a thread's stack.
//
// A stale node's dependencies are looked at in the order in which its last run asked for them. As long as
// they come out the same its next run would ask for the next one too, so none is made that the function would
// not have asked for; the first that differs makes the node dirty, and it runs. Where all come out the same
// it is promoted.
//
// A function that asks for something that must be made first has it made inside of its own run, up to
// kNestedMax functions deep or kStackMax bytes of stack. Beyond that it gives up (Unwind), with all that it
// runs inside of; the missing node is made from the bottom of the stack, stays pinned, and what gave up is
// started again. In a chain that was never made every function is so started at most twice.
#include "larder/graph.hpp"
#include "reactive/engine.hpp"

namespace larder::reactive {

using namespace larder::detail;

bool Engine::is_superseded(const Evaluator& evaluator) const noexcept {
  return commits_wait() && (evaluator.may_cancel || is_torn_.load(std::memory_order_relaxed));
}

// Nobody needs what it makes any more: who asked has stopped or dropped his want, no other thread waits for
// anything on its stack, and nothing there is live.
bool Engine::is_dropped(const Evaluator& evaluator) noexcept {
  const bool has_stopped = evaluator.stop != nullptr && evaluator.stop->stop_requested();
  const bool is_unwanted = evaluator.pushed != kNoNode && node(evaluator.pushed).live == 0;
  if (!has_stopped && !is_unwanted) return false;
  for (const Frame& frame : evaluator.stack)
    if (node(frame.node).live != 0) return false;
  for (const auto& other : evaluators_)
    if (other->is_in_use && other->waiting_on != kNoNode && owns(evaluator, other->waiting_on)) return false;
  return true;
}

bool Engine::is_cancelled(Evaluator& evaluator) {
  const std::uint32_t who = summons.load(std::memory_order_relaxed);
  if (who == 0) [[likely]]
    return false;
  if (!is_parallel && (who & (kMayStop - kDropWaits)) != 0) let_in();
  return is_superseded(evaluator) || is_dropped(evaluator);
}

void Engine::clear_busy(Evaluator& evaluator, std::size_t base) {
  while (evaluator.stack.size() > base) {
    const NodeId id = evaluator.stack.back().node;
    Node& node = this->node(id);
    if (is_member(evaluator, id)) {
      evaluator.stack.pop_back();
      continue;
    }
    node.clear(kBusy);
    if (node.live != 0 && node.condition() == kDirty) enqueue(id, node);  // I5
    evaluator.stack.pop_back();
  }
  if (is_parallel) left_.notify_all();
}

bool Engine::owns(const Evaluator& evaluator, NodeId id) const noexcept {
  return stands_in(evaluator, id) || is_member(evaluator, id);
}

bool Engine::stands_in(const Evaluator& evaluator, NodeId id) const noexcept {
  for (auto frame = evaluator.stack.rbegin(); frame != evaluator.stack.rend(); ++frame)
    if (frame->node == id) return true;
  return false;
}

void Engine::ensure(Evaluator& evaluator, NodeId first, bool wants_value) {
  struct Unstack {
    Engine& engine;
    Evaluator& evaluator;
    std::size_t base;
    ~Unstack() {
      if (evaluator.stack.size() > base) engine.clear_busy(evaluator, base);
    }
  } const unstack{*this, evaluator, evaluator.stack.size()};
  const std::size_t base = unstack.base;
  std::vector<Frame>& stack = evaluator.stack;

  const auto push_frame = [&](NodeId id, bool wants) {
    node(id).set(kBusy);
    Frame frame;
    frame.node = id;
    frame.wants_value = wants;
    stack.push_back(frame);
  };
  const auto pop_frame = [&] {
    if (!is_member(evaluator, stack.back().node)) node(stack.back().node).clear(kBusy);
    stack.pop_back();
    if (is_parallel) left_.notify_all();
  };
  while (node(first).has(kBusy)) {
    if (stands_in(evaluator, first)) close_cycle(evaluator, first);
    if (is_member(evaluator, first)) break;
    wait_for(evaluator, first);
  }
  push_frame(first, wants_value);
  while (stack.size() > base) {
    if (evaluator.gives_way_to != nullptr || is_cancelled(evaluator)) [[unlikely]] {
      evaluator.is_unwinding = evaluator.depth != 0;
      throw Unwind{};
    }
    Frame& frame = stack.back();
    const NodeId id = frame.node;
    Node& node = this->node(id);
    const std::uint8_t condition = node.condition();
    bool runs = condition == kDirty || condition == kAbsent;
    if (!runs && (condition == kStale || !is_settled(node))) {
      const std::uint32_t count = node.count(kSub);
      Edge* const subs = node.edge(kSub);
      NodeId below = kNoNode;
      while (frame.next < count && node.condition() != kDirty) {
        const NodeId dependency = subs[frame.next].node;
        Node& used = this->node(dependency);
        if (used.has(kBusy)) {
          if (owns(evaluator, dependency)) {
            // It would ask for what waits for it: let it run and find the cycle.
            node.become(kDirty);
            break;
          }
          wait_for(evaluator, dependency);
          below = dependency;  // look again
          break;
        }
        if (used.condition() == kClean && is_settled(used)) {
          ++frame.next;
          continue;
        }
        below = dependency;
        push_frame(dependency, false);
        break;
      }
      if (below != kNoNode) continue;
      if (node.condition() != kDirty) {
        node.become(kClean);
        node.settled = push;
        ++stats_.promotions;
        if (!frame.wants_value || !node.has(kEvicted)) {
          pop_frame();
          continue;
        }
      }
      runs = true;
    }
    if (!runs && !(frame.wants_value && node.has(kEvicted))) {
      pop_frame();
      continue;
    }
    if (execute(evaluator, id)) {
      pop_frame();
      continue;
    }
    // It gave up; only the outermost comes here.
    if (!evaluator.new_heads.empty()) {
      if (evaluator.cycle != nullptr) throw Unwind{};  // which grows
      clear_busy(evaluator, base);
      solve(evaluator);
      while (this->node(first).has(kBusy)) wait_for(evaluator, first);
      push_frame(first, wants_value);
      continue;
    }
    const NodeId missing = evaluator.suspended_on;
    evaluator.suspended_on = kNoNode;
    if (missing == kNoNode || (this->node(missing).has(kBusy) && !is_member(evaluator, missing))) continue;
    pin(missing);
    evaluator.pinned.push_back(missing);
    push_frame(missing, true);
  }
}

// Somebody asked for what waits for him.
void Engine::close_cycle(Evaluator& evaluator, NodeId id) {
  for (auto frame = evaluator.stack.rbegin(); frame != evaluator.stack.rend(); ++frame) {
    if (function(node(frame->node)).spec.has_start) evaluator.new_heads.push_back(frame->node);
    if (frame->node == id) break;
  }
  if (evaluator.new_heads.empty()) report_cycle(evaluator, id);
  evaluator.is_unwinding = evaluator.depth != 0;
  throw Unwind{};
}

void Engine::report_cycle(Evaluator& evaluator, NodeId id) {
  std::size_t at = evaluator.stack.size();
  while (evaluator.stack[at - 1].node != id) --at;
  std::string path = "cycle: ";
  constexpr std::size_t kShownMax = 16;
  const std::size_t length = evaluator.stack.size() - (at - 1);
  for (std::size_t i = 0; i < length; ++i) {
    Frame& frame = evaluator.stack[at - 1 + i];
    frame.is_tainted = true;
    if (length > kShownMax && i >= kShownMax / 2 && i < length - kShownMax / 2) {
      if (i == kShownMax / 2) path += "... (" + std::to_string(length - kShownMax) + " more) -> ";
      continue;
    }
    path += name(frame.node) + " -> ";
  }
  path += name(id);
  throw DependencyFailed({Code::would_deadlock, std::move(path)});
}

// Waits until something has happened to the node. Where whoever is at work on it waits, over however many
// threads, for this one, they are in a cycle: the others give up what they hold, so that it comes to stand on
// one stack, where it is found and named.
void Engine::wait_for(Evaluator& evaluator, NodeId id) NO_THREAD_SAFETY_ANALYSIS {
  std::vector<Evaluator*> ring;
  for (NodeId wanted = id; ring.size() <= evaluators_.size();) {
    Evaluator* owner = nullptr;
    for (const auto& other : evaluators_)
      if (other.get() != &evaluator && other->is_in_use && owns(*other, wanted)) owner = other.get();
    if (owner == nullptr || owner->waiting_on == kNoNode || owner->gives_way_to != nullptr) break;
    ring.push_back(owner);
    wanted = owner->waiting_on;
    if (!owns(evaluator, wanted)) continue;
    for (Evaluator* const other : ring) other->gives_way_to = &evaluator;
    left_.notify_all();
    break;
  }
  if (evaluator.waiting_on == kNoNode) ++stats_.joined;
  evaluator.waiting_on = id;
  left_.wait(mutex_);
  evaluator.waiting_on = kNoNode;
  if (evaluator.gives_way_to != nullptr || is_cancelled(evaluator)) {
    evaluator.is_unwinding = evaluator.depth != 0;
    throw Unwind{};
  }
}

// After it gave up: lets the other one finish before it comes again.
void Engine::give_way(Evaluator& evaluator) NO_THREAD_SAFETY_ANALYSIS {
  const Evaluator* const other = std::exchange(evaluator.gives_way_to, nullptr);
  if (other == nullptr) return;
  for (const std::uint64_t turn = other->turn;
       other->is_in_use && other->turn == turn && !other->stack.empty() && !is_superseded(evaluator);) {
    ++waiting_;
    left_.wait(mutex_);
    --waiting_;
  }
}

}  // namespace larder::reactive

namespace larder::detail {

using reactive::Engine;

void require_node(Run& run, NodeId id) {
  Engine& engine = Engine::of(*run.graph);
  Evaluator& evaluator = *run.evaluator;
  if (evaluator.is_unwinding || engine.is_cancelled(evaluator)) {
    evaluator.is_unwinding = true;
    throw Unwind{};
  }
  while (!engine.is_ready(engine.node(id)) && !engine.join_cycle(evaluator, id))
    engine.ensure(evaluator, id, true);
}

}  // namespace larder::detail
