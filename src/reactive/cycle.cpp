// Cycles that have a value to start from. A function with a start value that meets itself becomes a head. All
// heads of a cycle are given their start values and run; what they and everything between them made is kept
// apart, in the cycle's members. Then they run again, now reading what came out, until every head comes out
// as it was read. Only that last round becomes the graph's.
//
// A round reads all heads as the round before left them, whoever runs first; and when one more head is found
// the rounds begin anew. So the result depends on which heads there are and not on the order of asking.
//
// The recorded graph must stay without cycles (I2). A head's dependencies are all that the cycle read outside
// of itself; the other members depend on what they read, heads included. So a change from outside makes the
// heads dirty, they run first, and the cycle is solved anew.
//
// Members are busy as long as the cycle is being solved, so no other thread reads what is not settled.
#include <unordered_map>
#include <unordered_set>

#include "larder/graph.hpp"
#include "reactive/engine.hpp"

namespace larder::detail {

struct Cycle {
  struct Member {
    NodeId node;
    Word before;  // value and state when it came in
    std::uint8_t state_before;
    bool is_head;
    bool is_made = false;    // in this round
    bool is_forced = false;  // of a head: keeps what it is read as, whatever comes out
    bool has_failed = false;
    Word made = 0;              // of a head: what came out in this round
    std::vector<NodeId> asked;  // in this round
  };
  std::vector<Member> members;
  std::unordered_map<NodeId, std::size_t> places;
  std::vector<std::size_t> order;  // members as they ended in this round
  unsigned round = 0;
  bool reruns = false;
};

}  // namespace larder::detail

namespace larder::reactive {

using namespace larder::detail;

bool Engine::is_member(const Evaluator& evaluator, NodeId id) const noexcept {
  return evaluator.cycle != nullptr && evaluator.cycle->places.contains(id);
}

// Whether the running function may read the node as the cycle has it so far.
bool Engine::join_cycle(Evaluator& evaluator, NodeId id) {
  if (evaluator.cycle == nullptr) return false;
  const auto at = evaluator.cycle->places.find(id);
  if (at == evaluator.cycle->places.end()) return false;
  const Cycle::Member& member = evaluator.cycle->members[at->second];
  if (!member.is_head && !member.is_made) return false;
  evaluator.stack.back().is_touched = true;
  return true;
}

void Engine::begin_member(Cycle& cycle, NodeId id, bool is_head) {
  Node& node = this->node(id);
  cycle.places.emplace(id, cycle.members.size());
  Cycle::Member member{};
  member.node = id;
  member.before = node.value.load(std::memory_order_relaxed);
  member.state_before = node.flags();
  member.is_head = is_head;
  cycle.members.push_back(std::move(member));
  leave_cycle(id);
  node.value.store(0, std::memory_order_release);
  node.clear(kFailed | kEvicted);
  node.set(kBusy);
  if (node.condition() != kAbsent) node.become(kDirty);
}

// In place of what the cycle had there.
void Engine::give_value(Node& node, Word word, bool is_failed) {
  drop_value(node);
  node.value.store(word, std::memory_order_release);
  if (is_failed)
    node.set(kFailed);
  else
    node.clear(kFailed);
}

void Engine::take_into_cycle(Evaluator& evaluator, Run& run, Word word) {
  Cycle& cycle = *evaluator.cycle;
  const NodeId id = run.self;
  std::vector<NodeId> asked;
  for (std::uint32_t i = 0; i < run.cursor; ++i) asked.push_back(run.expected[i].node);
  asked.insert(asked.end(), evaluator.asked.begin() + static_cast<std::ptrdiff_t>(run.asked_at),
               evaluator.asked.end());
  evaluator.asked.resize(run.asked_at);
  if (!cycle.places.contains(id)) begin_member(cycle, id, false);
  const std::size_t place = cycle.places.find(id)->second;
  Cycle::Member& member = cycle.members[place];
  member.asked = std::move(asked);
  member.is_made = true;
  cycle.order.push_back(place);
  if (run.is_volatile || run.is_tainted ||
      (run.has_failed && !run.passes_on && is_passing(unboxed<Error>(word))))
    cycle.reruns = true;
  if (member.is_head) {
    member.made = word;
    member.has_failed = run.has_failed;
  } else {
    give_value(node(id), word, run.has_failed);
  }
}

// False: none is left to add; others made them meanwhile.
bool Engine::add_heads(Evaluator& evaluator) {
  Cycle& cycle = *evaluator.cycle;
  const std::size_t before = cycle.members.size();
  std::vector<NodeId> heads;
  heads.swap(evaluator.new_heads);
  for (const NodeId id : heads) {
    const auto at = cycle.places.find(id);
    if (at != cycle.places.end()) {
      cycle.members[at->second].is_head = true;
      continue;
    }
    while (node(id).has(kBusy)) wait_for(evaluator, id);
    if (!is_ready(node(id))) begin_member(cycle, id, true);
  }
  for (Cycle::Member& member : cycle.members) {
    if (!member.is_head) continue;
    const FunctionSpec& spec = function(node(member.node)).spec;
    if (spec.value.is_boxed) retain(spec.start);
    give_value(node(member.node), spec.start, false);
    member.is_forced = spec.rounds_max == 0;
  }
  cycle.round = 0;
  return before != 0 || cycle.members.size() != before;
}

void Engine::run_head(Evaluator& evaluator, NodeId id) {
  Frame frame;
  frame.node = id;
  evaluator.stack.push_back(frame);
  while (!execute(evaluator, id)) {
    if (!evaluator.new_heads.empty() || evaluator.gives_way_to != nullptr || is_cancelled(evaluator))
      throw Unwind{};
    const NodeId missing = std::exchange(evaluator.suspended_on, kNoNode);
    if (missing == kNoNode) continue;
    pin(missing);
    evaluator.pinned.push_back(missing);
    ensure(evaluator, missing, true);
  }
  evaluator.stack.pop_back();
}

// False: some head came out other than it was read, and is read so in the next round.
bool Engine::run_round(Evaluator& evaluator) {
  Cycle& cycle = *evaluator.cycle;
  ++cycle.round;
  cycle.order.clear();
  for (Cycle::Member& member : cycle.members) member.is_made = false;
  for (std::size_t i = 0; i < cycle.members.size(); ++i)
    if (cycle.members[i].is_head) run_head(evaluator, cycle.members[i].node);
  bool is_settled = true;
  for (Cycle::Member& member : cycle.members) {
    if (!member.is_head) continue;
    Node& node = this->node(member.node);
    const FunctionSpec& spec = function(node).spec;
    const Word made = std::exchange(member.made, 0);
    if (member.is_forced || is_equal(node, made, member.has_failed)) {
      if (member.has_failed || spec.value.is_boxed) release(made);
      continue;
    }
    is_settled = false;
    if (cycle.round < spec.rounds_max) {
      give_value(node, made, member.has_failed);
      continue;
    }
    if (member.has_failed || spec.value.is_boxed) release(made);
    give_value(
        node,
        error_word({Code::maker_failed, name(member.node) + ": the cycle through it has not settled after " +
                                            std::to_string(cycle.round) + " rounds"}),
        true);
    member.is_forced = true;
  }
  return is_settled;
}

// I1 to I3. What goes keeps its liveness until what comes has it.
void Engine::link_members(Cycle& cycle) {
  std::vector<NodeId> outer;
  std::unordered_set<NodeId> seen;
  std::vector<NodeId> gone;
  for (const std::size_t at : cycle.order) {
    const Cycle::Member& member = cycle.members[at];
    for (const NodeId id : member.asked)
      if (!cycle.places.contains(id) && seen.insert(id).second) outer.push_back(id);
    Node& node = this->node(member.node);
    if (node.live != 0)
      for (std::uint32_t i = 0; i < node.count(kSub); ++i) gone.push_back(node.edge(kSub)[i].node);
    unlink(member.node, 0);
  }
  const auto link_one = [&](const Cycle::Member& member, const std::vector<NodeId>& to) {
    Node& node = this->node(member.node);
    link(member.node, to.data(), to.size(), 0);
    if (to.empty()) drop_edges(node, kSub);
    std::uint32_t height = 0;
    for (const NodeId id : to) height = std::max(height, this->node(id).height + 1);
    const bool rises = height > node.height;
    node.height = height;
    if (rises && node.count(kSup) != 0) raise(member.node);
    if (node.live != 0)
      for (const NodeId id : to) live_up(id);
  };
  for (const std::size_t at : cycle.order)
    if (cycle.members[at].is_head) link_one(cycle.members[at], outer);
  for (const std::size_t at : cycle.order)
    if (!cycle.members[at].is_head) link_one(cycle.members[at], cycle.members[at].asked);
  for (const NodeId id : gone) live_down(id);
}

// The last round becomes the graph's.
void Engine::end_cycle(Evaluator& evaluator) {
  Cycle& cycle = *evaluator.cycle;
  link_members(cycle);
  std::vector<NodeId> differ;
  for (const std::size_t at : cycle.order) {
    Cycle::Member& member = cycle.members[at];
    Node& node = this->node(member.node);
    const bool is_boxed = function(node).spec.value.is_boxed;
    const Word word = node.value.load(std::memory_order_relaxed);
    const bool is_failed = node.has(kFailed);
    const std::uint8_t flags = member.state_before & (kFailed | kEvicted);
    node.value.store(member.before, std::memory_order_relaxed);
    node.clear(kFailed);
    node.set(flags);
    const bool was_made = (member.state_before & kCondition) != kAbsent;
    const bool is_same = was_made && is_equal(node, word, is_failed);
    if (is_same && !node.has(kEvicted)) {
      if (is_failed || is_boxed) release(word);
      ++stats_.cut_offs;
    } else {
      if (was_made)
        give_value(node, word, is_failed);
      else {
        node.value.store(word, std::memory_order_release);
        if (is_failed) node.set(kFailed);
      }
      node.clear(kEvicted);
    }
    if (was_made && !is_same) differ.push_back(member.node);
    member.before = 0;
  }
  for (const NodeId id : differ) changed(id);
  for (const std::size_t at : cycle.order) {
    const NodeId id = cycle.members[at].node;
    Node& node = this->node(id);
    node.become(kClean);
    node.settled = push;
    if (cycle.reruns && !node.has(kVolatile)) reruns_.push_back(id);
    if (cycle.reruns) node.set(kVolatile);
    keep_on_cycle(id);
    if (lines_.policy != nullptr) place(id, node, 0);
    cycle.places.erase(id);
    node.clear(kBusy);
  }
}

// What was not made in the last round is as it was before.
void Engine::abandon_cycle(Evaluator& evaluator) noexcept {
  Cycle& cycle = *evaluator.cycle;
  evaluator.cycle = nullptr;
  for (Cycle::Member& member : cycle.members) {
    if (!cycle.places.contains(member.node)) continue;
    Node& node = this->node(member.node);
    if (member.made != 0 && (member.has_failed || function(node).spec.value.is_boxed)) release(member.made);
    drop_value(node);
    node.value.store(member.before, std::memory_order_release);
    node.clear(kFailed | kEvicted | kBusy);
    node.set(member.state_before & (kFailed | kEvicted));
    node.become(member.state_before & kCondition);
    if (node.live != 0 && node.condition() == kDirty) enqueue(member.node, node);  // I5
  }
  if (is_parallel) left_.notify_all();
}

void Engine::solve(Evaluator& evaluator) {
  Cycle cycle;
  evaluator.cycle = &cycle;
  struct End {
    Engine& engine;
    Evaluator& evaluator;
    ~End() { engine.abandon_cycle(evaluator); }
  } const end{*this, evaluator};
  const std::size_t base = evaluator.stack.size();
  for (bool is_solved = false; !is_solved;) {
    try {
      if (!evaluator.new_heads.empty() && !add_heads(evaluator)) return;
      is_solved = run_round(evaluator);
    } catch (const Unwind&) {
      clear_busy(evaluator, base);
      evaluator.is_unwinding = false;
      if (evaluator.new_heads.empty() || evaluator.gives_way_to != nullptr || is_cancelled(evaluator)) {
        evaluator.new_heads.clear();
        throw;
      }
    }
  }
  end_cycle(evaluator);
}

}  // namespace larder::reactive
