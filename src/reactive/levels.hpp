// Levels is the queue of a push: nodes by height, lowest first. Lists run through the nodes themselves
// (Node::next); finding the next level that is not empty looks at 4096 levels per step.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "larder/detail/graph_node.hpp"

namespace larder::reactive {

using detail::kNoNode;
using detail::Node;
using detail::NodeId;

class Levels {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }

  void push(std::uint32_t height, NodeId id, Node& node) {
    if (height >= heads_.size()) grow(height);
    node.next = heads_[height];
    heads_[height] = id;
    bits_[height / 64] |= std::uint64_t{1} << (height % 64);
    sums_[height / 4096] |= std::uint64_t{1} << (height / 64 % 64);
    if (height < lowest_) lowest_ = height;
    ++size_;
  }

  // The lowest level with nodes. Only where not empty.
  std::uint32_t lowest() noexcept {
    if (lowest_ >= heads_.size() || heads_[lowest_] == kNoNode) lowest_ = find(lowest_);
    return lowest_;
  }
  NodeId first(std::uint32_t height) const noexcept { return heads_[height]; }
  void pop(std::uint32_t height, Node& first) noexcept {
    heads_[height] = first.next;
    --size_;
    if (first.next != kNoNode) return;
    bits_[height / 64] &= ~(std::uint64_t{1} << (height % 64));
    if (bits_[height / 64] == 0) sums_[height / 4096] &= ~(std::uint64_t{1} << (height / 64 % 64));
  }
  std::size_t memory_bytes() const noexcept {
    return heads_.capacity() * sizeof(NodeId) + (bits_.capacity() + sums_.capacity()) * sizeof(std::uint64_t);
  }

 private:
  void grow(std::uint32_t height);
  std::uint32_t find(std::uint32_t from) const noexcept;

  std::vector<NodeId> heads_;
  std::vector<std::uint64_t> bits_;  // one per level
  std::vector<std::uint64_t> sums_;  // one per word of bits_
  std::uint32_t lowest_ = 0;
  std::size_t size_ = 0;
};

}  // namespace larder::reactive
