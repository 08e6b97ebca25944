// Gdsf (GreedyDual-Size with Frequency) gives an entry the worth L + uses * cost / size at each use and lets
// the least worth go; L is the worth of what went last, so that what is not used ages. An exact heap. Without
// cost every entry costs the same. An entry that comes back starts anew. (Cherkasova 1998.)
#pragma once

#include <vector>

#include "policy/policy.hpp"

namespace larder::policy {

class Gdsf final : public Policy {
 public:
  explicit Gdsf(bool with_cost) : with_cost_(with_cost) {}

 private:
  struct Known {
    double worth = 0;
    double value = 0;  // cost / size
    std::uint32_t uses = 0;
    std::uint32_t place = 0;  // in the heap
  };

  void do_insert(Id id, const Entry& entry, Past past) override;
  void do_touch(Id id, Touch touch) override;
  void do_reweigh(Id id, std::uint64_t weight, std::uint64_t cost) override;
  void do_remove(Id id, Departure departure) override;
  void do_pin(Id id) override;
  void do_unpin(Id id) override;
  Id do_victim() override { return heap_.front(); }
  std::uint32_t do_uses(Id id) const override { return known_[id].uses; }
  std::size_t do_memory_bytes() const noexcept override;
  double value(std::uint64_t weight, std::uint64_t cost) const noexcept;
  void push(Id id);
  void take_out(Id id);
  void settle(std::size_t place);

  bool with_cost_;
  double worth_of_last_ = 0;  // L
  std::vector<Known> known_;
  std::vector<Id> heap_;  // least worth first; unpinned entries only
};

}  // namespace larder::policy
