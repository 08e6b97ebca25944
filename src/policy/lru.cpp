#include "policy/lru.hpp"

namespace larder::policy {

void Lru::do_insert(Id id, const Entry&, Past) {
  order_.push_front(id);
}

void Lru::do_touch(Id id, Touch) {
  order_.remove(id);
  order_.push_front(id);
}

void Lru::do_remove(Id id, Departure) {
  order_.remove(id);
}
void Lru::do_unpin(Id id) {
  order_.leave_parking(id);
}

Id Lru::do_victim() {
  while (is_pinned(order_.back())) order_.park_back();
  return order_.back();
}

std::size_t Lru::do_memory_bytes() const noexcept {
  return order_.memory_bytes();
}

}  // namespace larder::policy
