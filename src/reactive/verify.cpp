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

bool Engine::is_cancelled(const Evaluator& evaluator) const noexcept {
  return commits_waiting.load(std::memory_order_relaxed) != 0 &&
         (evaluator.may_cancel || is_torn_.load(std::memory_order_relaxed));
}

void Engine::clear_busy(Evaluator& evaluator, std::size_t base) {
  while (evaluator.stack.size() > base) {
    const NodeId id = evaluator.stack.back().node;
    Node& node = this->node(id);
    node.clear(kBusy);
    if (node.live != 0 && node.condition() == kDirty) enqueue(id, node);  // I5
    evaluator.stack.pop_back();
  }
  if (is_parallel) left_.notify_all();
}

bool Engine::owns(const Evaluator& evaluator, NodeId id) const noexcept {
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
    node(stack.back().node).clear(kBusy);
    stack.pop_back();
    if (is_parallel) left_.notify_all();
  };
  while (node(first).has(kBusy)) {
    if (owns(evaluator, first) || !wait_for(evaluator, first)) report_cycle(evaluator, first);
  }
  push_frame(first, wants_value);
  while (stack.size() > base) {
    if (is_cancelled(evaluator)) [[unlikely]] {
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
          if (owns(evaluator, dependency) || !wait_for(evaluator, dependency)) {
            // It would ask for what waits for it: let it run and find the cycle.
            node.become(kDirty);
            break;
          }
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
    const NodeId missing = evaluator.suspended_on;
    evaluator.suspended_on = kNoNode;
    if (missing == kNoNode || this->node(missing).has(kBusy)) continue;
    pin(missing);
    evaluator.pinned.push_back(missing);
    push_frame(missing, true);
  }
}

void Engine::report_cycle(Evaluator& evaluator, NodeId id) {
  std::size_t at = evaluator.stack.size();
  while (at > 1 && evaluator.stack[at - 1].node != id)
    --at;  // not there: the rest is on other threads' stacks
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

// False: whoever is at work on it waits, over however many threads, for this one.
bool Engine::wait_for(Evaluator& evaluator, NodeId id) NO_THREAD_SAFETY_ANALYSIS {
  NodeId wanted = id;
  for (std::size_t hops = 0; hops <= evaluators_.size(); ++hops) {
    Evaluator* owner = nullptr;
    for (const auto& other : evaluators_)
      if (other.get() != &evaluator && other->is_in_use && owns(*other, wanted)) owner = other.get();
    if (owner == nullptr || owner->waiting_on == kNoNode) break;
    // What it met on its way is part of the cycle, if it is one.
    wanted = owner->waiting_on;
    if (!owns(evaluator, wanted)) continue;
    for (const auto& other : evaluators_)
      if (other->is_in_use && other->waiting_on != kNoNode)
        for (Frame& frame : other->stack) frame.is_tainted = true;
    return false;
  }
  evaluator.waiting_on = id;
  left_.wait(mutex_);
  evaluator.waiting_on = kNoNode;
  if (is_cancelled(evaluator)) {
    evaluator.is_unwinding = evaluator.depth != 0;
    throw Unwind{};
  }
  return true;
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
  while (!engine.is_ready(engine.node(id))) engine.ensure(evaluator, id, true);
}

}  // namespace larder::detail
