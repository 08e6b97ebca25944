// Values are kept in lines under a replacement policy. An evicted value leaves its node behind, with its
// dependencies and its digest, so that who depends on it is not disturbed, and so that it can be told, when
// it is made again, whether it came out the same. Nodes that nobody depends on leave with their value.
//
// Readers set the used bit of a node without telling the policy; before a victim goes it gets a second look
// (policy/policy.hpp).
#include "policy/kind.hpp"
#include "reactive/engine.hpp"

namespace larder::reactive {

using namespace larder::detail;

// The node has a value; gives it a line, and makes room first.
void Engine::place(NodeId id, Node& node, std::uint64_t cost) {
  const FunctionSpec& spec = function(node).spec;
  const Word word = node.value.load(std::memory_order_relaxed);
  std::uint64_t weight = sizeof(Node);
  if (node.has(kFailed))
    weight += sizeof(BoxOf<Error>) + unboxed<Error>(word).what.size();
  else if (spec.value.weight != nullptr)
    weight += spec.value.weight(word);
  if (id >= lines_.weights.size()) lines_.weights.resize(std::size_t{id} + id / 2 + 1);
  policy::Policy& policy = *lines_.policy;
  lines_.bytes += weight - lines_.weights[id];
  const bool has_line = lines_.weights[id] != 0;
  lines_.weights[id] = weight;
  if (!has_line && lines_.pins.contains(id)) {
    ++lines_.pinned;
    make_room(0, 0);
  } else if (!has_line) {
    make_room(0, 1);
    policy.insert(id, {.key = mixed(id), .weight = weight, .cost = cost});
  } else if (policy.contains(id)) {
    policy.reweigh(id, weight, cost);
    // It is about to be read: others leave.
    policy.pin(id);
    make_room(0, 0);
    policy.unpin(id);
  } else {
    make_room(0, 0);
  }
}

void Engine::make_room(std::uint64_t bytes, std::uint64_t lines) {
  policy::Policy& policy = *lines_.policy;
  const auto is_full = [&] {
    return policy.size() != 0 &&
           ((options_.lines_max != 0 && policy.size() + lines_.pinned + lines > options_.lines_max) ||
            (options_.bytes_max != 0 && lines_.bytes + bytes > options_.bytes_max));
  };
  constexpr unsigned kBusyMax = 16;
  for (unsigned busy = 0; busy < kBusyMax && is_full();) {
    const policy::Id victim = policy.victim();
    if (victim == policy::kNoId) return;
    Node& node = this->node(victim);
    if (node.used.load(std::memory_order_relaxed) != 0) {
      node.used.store(0, std::memory_order_relaxed);
      policy.touch(victim);
    } else if (node.has(kBusy)) {
      policy.touch(victim);
      ++busy;  // too many of them: there is another time
    } else {
      evict(victim);
    }
  }
}

void Engine::leave_line(NodeId id) {
  if (lines_.policy == nullptr || id >= lines_.weights.size() || lines_.weights[id] == 0) return;
  if (lines_.policy->contains(id))
    lines_.policy->remove(id, policy::Departure::erased);
  else
    --lines_.pinned;
  lines_.bytes -= lines_.weights[id];
  lines_.weights[id] = 0;
}

void Engine::evict(NodeId id) {
  Node& node = this->node(id);
  lines_.policy->remove(id, policy::Departure::evicted);
  lines_.bytes -= lines_.weights[id];
  lines_.weights[id] = 0;
  ++stats_.evictions;
  const ValueType& type = function(node).spec.value;
  if (!node.has(kFailed) && type.is_boxed) {
    const Word word = node.value.load(std::memory_order_relaxed);
    Digest digest;
    const bool has_digest = type.digest != nullptr && type.digest(word, digest);
    release(word);
    node.value.store(has_digest ? boxed<Digest>(digest) : 0, std::memory_order_release);
  }
  node.set(kEvicted);
  if (node.count(kSup) == 0) idle_.push_back(id);
}

// Pinned values keep their lines and count, but the policy does not know them.
void Engine::pin(NodeId id) {
  if (++lines_.pins[id] != 1 || lines_.policy == nullptr || !lines_.policy->contains(id)) return;
  lines_.policy->remove(id, policy::Departure::erased);
  ++lines_.pinned;
}

void Engine::unpin(NodeId id) {
  const auto at = lines_.pins.find(id);
  if (--at->second != 0) return;
  lines_.pins.erase(at);
  if (lines_.policy == nullptr || id >= lines_.weights.size() || lines_.weights[id] == 0) return;
  --lines_.pinned;
  const std::uint64_t weight = lines_.weights[id];
  make_room(0, 1);
  lines_.policy->insert(id, {.key = mixed(id), .weight = weight});
}

void Engine::bound(std::size_t lines_max, std::uint64_t bytes_max) {
  options_.lines_max = lines_max;
  options_.bytes_max = bytes_max;
  holds = lines_max != 0 || bytes_max != 0 || is_parallel;
  if (lines_max == 0 && bytes_max == 0) {
    lines_.policy.reset();
    lines_.weights = {};
    lines_.bytes = 0;
    lines_.pinned = 0;
    return;
  }
  if (lines_.policy != nullptr) {
    lines_.policy->resize({.bytes = bytes_max, .entries = lines_max});
    make_room(0, 0);
    return;
  }
  const auto kind = policy::from_name(options_.policy);
  if (!kind) throw std::invalid_argument("no policy is called " + options_.policy);
  lines_.policy = policy::make(*kind, {.limits = {.bytes = bytes_max, .entries = lines_max}});
  lines_.needs_cost = *kind == policy::Kind::gdsf || *kind == policy::Kind::gdsf_size ||
                      *kind == policy::Kind::sampled || *kind == policy::Kind::adaptive;
  for (NodeId id = 0; id < node_count_; ++id) {
    Node& node = this->node(id);
    if (node.function == kNoFunction || function(node).spec.run == nullptr || node.condition() == kAbsent ||
        node.has(kEvicted))
      continue;
    place(id, node, 0);
  }
}

}  // namespace larder::reactive
