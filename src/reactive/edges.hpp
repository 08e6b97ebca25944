// EdgePool gives out the arrays of nodes with more than one edge, by size class: an array of class n has room
// for 2^n edges. Small ones are cut from slabs and used again; large ones come from the heap.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "larder/detail/graph_node.hpp"

namespace larder::reactive {

using detail::Edge;

class EdgePool {
 public:
  EdgePool() = default;
  ~EdgePool();
  EdgePool(const EdgePool&) = delete;
  EdgePool& operator=(const EdgePool&) = delete;

  // Throws std::bad_alloc.
  Edge* take(unsigned size_class);
  void give(Edge* edges, unsigned size_class) noexcept;
  std::size_t memory_bytes() const noexcept { return memory_bytes_; }

 private:
  static constexpr unsigned kSmall = 10;  // classes below are cut from slabs
  static constexpr std::size_t kSlab = std::size_t{256} << 10;

  struct Free {
    Free* next;
  };
  std::array<Free*, kSmall> free_{};
  std::vector<void*> slabs_;
  std::byte* fresh_ = nullptr;
  std::size_t left_ = 0;
  std::size_t memory_bytes_ = 0;
};

}  // namespace larder::reactive
