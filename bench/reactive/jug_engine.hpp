// Seed 003 read literally: two maps from a node to the set of nodes it depends on (`sub`) and that depend on
// it
// (`sup`), hash maps of hash sets, and greedy rebuilding breadth first: what differs queues its consumers.
// Where the arms of a diamond are of unequal length its bottom runs more than once, as the seed's words have
// it.
#pragma once

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bench/reactive/shapes.hpp"

namespace bench {

class JugEngine {
 public:
  explicit JugEngine(Shape shape) : shape_(shape) {}

  void set(std::uint32_t input, Value value) {
    const auto at = values_.find(input);
    if (at != values_.end() && at->second == value) return;
    values_[input] = value;
    push(input);
  }
  void set_unrelated(Value value) { other_[0] = value; }
  Value read(std::uint32_t node) {
    // Chains are made from the bottom, to keep the stack out of the comparison.
    if (shape_.kind == Kind::chain)
      for (std::uint32_t below = 1000; below < node; below += 1000) get(below);
    return get(node);
  }
  void watch(std::uint32_t) {}
  std::size_t evaluations() const { return evaluations_; }

 private:
  Value get(std::uint32_t node) {
    const auto at = values_.find(node);
    return at != values_.end() ? at->second : make(node);
  }
  Value make(std::uint32_t node) {
    ++evaluations_;
    for (const std::uint32_t dependency : sub_[node]) sup_[dependency].erase(node);
    sub_[node].clear();
    const Value value = compute(shape_, node, [&](std::uint32_t other) {
      const Value read = get(other);
      sub_[node].insert(other);
      sup_[other].insert(node);
      return read;
    });
    values_[node] = value;
    return value;
  }
  void push(std::uint32_t changed) {
    std::deque<std::uint32_t> queue{changed};
    std::unordered_set<std::uint32_t> queued{changed};
    while (!queue.empty()) {
      const std::uint32_t node = queue.front();
      queue.pop_front();
      queued.erase(node);
      bool differs = node == changed;
      if (!differs) {
        const Value before = values_[node];
        differs = make(node) != before;
      }
      if (!differs) continue;
      const auto consumers = sup_.find(node);
      if (consumers == sup_.end()) continue;
      std::vector<std::uint32_t> all(consumers->second.begin(), consumers->second.end());
      for (const std::uint32_t consumer : all)
        if (queued.insert(consumer).second) queue.push_back(consumer);
    }
  }

  Shape shape_;
  std::unordered_map<std::uint32_t, Value> values_;
  std::unordered_map<std::uint32_t, std::unordered_set<std::uint32_t>> sub_;
  std::unordered_map<std::uint32_t, std::unordered_set<std::uint32_t>> sup_;
  std::unordered_map<std::uint32_t, Value> other_;
  std::size_t evaluations_ = 0;
};

}  // namespace bench
