// Lru lets the entry go whose last use lies longest ago: a list in order of use, every use a move to the
// front.
#pragma once

#include "policy/list.hpp"
#include "policy/policy.hpp"

namespace larder::policy {

class Lru final : public Policy {
 private:
  void do_insert(Id id, const Entry& entry, Past past) override;
  void do_touch(Id id, Touch touch) override;
  void do_remove(Id id, Departure departure) override;
  void do_unpin(Id id) override;
  Id do_victim() override;
  std::size_t do_memory_bytes() const noexcept override;

  ParkingList order_;
};

}  // namespace larder::policy
