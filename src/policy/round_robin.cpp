#include "policy/round_robin.hpp"

namespace larder::policy {

void RoundRobin::do_insert(Id id, const Entry&, Past) {
  order_.push_front(id);
}
void RoundRobin::do_touch(Id, Touch) {}
void RoundRobin::do_remove(Id id, Departure) {
  order_.remove(id);
}
void RoundRobin::do_unpin(Id id) {
  order_.leave_parking(id);
}

Id RoundRobin::do_victim() {
  while (is_pinned(order_.back())) order_.park_back();
  return order_.back();
}

std::size_t RoundRobin::do_memory_bytes() const noexcept {
  return order_.memory_bytes();
}

}  // namespace larder::policy
