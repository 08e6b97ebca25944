#include "reactive/edges.hpp"

#include "base/pages.hpp"

namespace larder::reactive {

EdgePool::~EdgePool() {
  for (void* slab : slabs_) free_pages(slab);
}

Edge* EdgePool::take(unsigned size_class) {
  const std::size_t size = sizeof(Edge) << size_class;
  if (size_class >= kSmall) {
    Edge* const edges = static_cast<Edge*>(::operator new(size));
    memory_bytes_ += size;
    return edges;
  }
  if (Free* const kept = free_[size_class]; kept != nullptr) {
    free_[size_class] = kept->next;
    return reinterpret_cast<Edge*>(kept);
  }
  if (left_ < size) {
    // What is left of the slab is cut into smaller arrays.
    for (unsigned smaller = size_class; smaller-- > 1;) {
      const std::size_t bytes = sizeof(Edge) << smaller;
      if (left_ < bytes) continue;
      give(reinterpret_cast<Edge*>(fresh_), smaller);
      fresh_ += bytes;
      left_ -= bytes;
    }
    slabs_.push_back(nullptr);
    slabs_.back() = allocate_pages(kSlab);
    fresh_ = static_cast<std::byte*>(slabs_.back());
    left_ = kSlab;
    memory_bytes_ += kSlab;
  }
  Edge* const edges = reinterpret_cast<Edge*>(fresh_);
  fresh_ += size;
  left_ -= size;
  return edges;
}

void EdgePool::give(Edge* edges, unsigned size_class) noexcept {
  if (size_class >= kSmall) {
    ::operator delete(edges);
    memory_bytes_ -= sizeof(Edge) << size_class;
    return;
  }
  auto* const kept = reinterpret_cast<Free*>(edges);
  kept->next = free_[size_class];
  free_[size_class] = kept;
}

}  // namespace larder::reactive
