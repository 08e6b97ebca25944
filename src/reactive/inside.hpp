// Which graphs a thread is inside of: a function that asks its own graph past its Context is refused.
#pragma once

#include "larder/detail/graph_core.hpp"

namespace larder::reactive {

struct Inside {
  const detail::GraphHot* graph;
  Inside* outer;
};

// Of the calling thread, innermost first.
Inside*& inside_of_thread() noexcept;
bool is_inside(const detail::GraphHot& graph) noexcept;

struct Stay {
  Inside inside;
  explicit Stay(const detail::GraphHot& graph) noexcept : inside{&graph, inside_of_thread()} {
    inside_of_thread() = &inside;
  }
  ~Stay() { inside_of_thread() = inside.outer; }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;
};

}  // namespace larder::reactive
