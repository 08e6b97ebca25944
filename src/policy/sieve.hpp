// Sieve keeps entries in order of insertion with a visited bit each. A hand walks from the oldest towards the
// newest: it clears the bit of what was visited and leaves it where it stands, and lets the first go that was
// not. Survivors do not move, so new entries are sifted quickly while old ones that are used stay. (Zhang et
// al., NSDI 2024.)
#pragma once

#include <vector>

#include "policy/list.hpp"
#include "policy/policy.hpp"

namespace larder::policy {

class Sieve final : public Policy {
 private:
  void do_insert(Id id, const Entry& entry, Past past) override;
  void do_touch(Id id, Touch touch) override;
  void do_remove(Id id, Departure departure) override;
  Id do_victim() override;
  std::size_t do_memory_bytes() const noexcept override;

  Links links_;
  List order_;
  std::vector<bool> visited_;
  Id hand_ = kNoId;  // looked at next; kNoId: begin at the oldest
};

}  // namespace larder::policy
