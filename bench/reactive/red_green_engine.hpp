// A pull engine of the red/green kind, as its users describe it: every memo carries the revision in which it
// was last verified and in which it last changed; a read in a new revision walks the memo's dependencies, in
// their order, and runs the function only if one of them changed since. Nothing is pushed and no reverse
// edges are kept. Recursion is that of the functions, so deep chains are verified from the bottom here to
// keep the stack out of the comparison.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/reactive/shapes.hpp"

namespace bench {

class RedGreenEngine {
 public:
  explicit RedGreenEngine(Shape shape) : shape_(shape), memos_(shape.nodes) {}

  void set(std::uint32_t input, Value value) {
    Memo& memo = memos_[input];
    memo.is_made = true;
    ++revision_;
    if (memo.value == value) return;
    memo.value = value;
    memo.changed = revision_;
  }
  void set_unrelated(Value) { ++revision_; }
  Value read(std::uint32_t node) {
    if (shape_.kind == Kind::chain)
      for (std::uint32_t below = kStep; below < node; below += kStep) fetch(below);
    return fetch(node).value;
  }
  void watch(std::uint32_t) {}
  std::size_t evaluations() const { return evaluations_; }

 private:
  static constexpr std::uint32_t kStep = 1000;
  struct Memo {
    Value value = 0;
    std::uint64_t verified = 0;
    std::uint64_t changed = 0;
    std::vector<std::uint32_t> dependencies;
    bool is_made = false;
  };

  Memo& fetch(std::uint32_t node) {
    Memo& memo = memos_[node];
    if (is_input(shape_, node) || memo.verified == revision_) return memo;
    if (memo.is_made) {
      bool is_green = true;
      for (const std::uint32_t dependency : memo.dependencies) {
        if (fetch(dependency).changed <= memo.verified) continue;
        is_green = false;
        break;
      }
      if (is_green) {
        memo.verified = revision_;
        return memo;
      }
    }
    ++evaluations_;
    std::vector<std::uint32_t> dependencies;
    const Value value = compute(shape_, node, [&](std::uint32_t other) {
      dependencies.push_back(other);
      return fetch(other).value;
    });
    memo.dependencies = std::move(dependencies);
    if (!memo.is_made || memo.value != value) memo.changed = revision_;
    memo.value = value;
    memo.verified = revision_;
    memo.is_made = true;
    return memo;
  }

  Shape shape_;
  std::vector<Memo> memos_;
  std::uint64_t revision_ = 1;
  std::size_t evaluations_ = 0;
};

}  // namespace bench
