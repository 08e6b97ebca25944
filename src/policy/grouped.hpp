// Grouped is LRU over groups and MRU within one: of the group (a page, an application) used longest ago, the
// entry used last goes first. A group asks for its entries once each, in the same order every time, so within
// it what was just loaded is needed last. An entry that another group uses belongs to that group from then
// on.
#pragma once

#include <unordered_map>
#include <vector>

#include "policy/list.hpp"
#include "policy/policy.hpp"

namespace larder::policy {

class Grouped final : public Policy {
 private:
  // Groups have small ids of their own; one that holds nothing is gone.
  struct Group {
    std::uint64_t name = 0;
    List entries;  // front: used last
    std::size_t count = 0;
  };

  void do_insert(Id id, const Entry& entry, Past past) override;
  void do_touch(Id id, Touch touch) override;
  void do_remove(Id id, Departure departure) override;
  Id do_victim() override;
  std::size_t do_memory_bytes() const noexcept override;
  void join(Id id, Id group);
  void leave(Id id);
  void drop_if_empty(Id group);
  Id group_named(std::uint64_t name);

  Links links_;
  std::vector<Id> group_of_;  // by entry
  std::vector<Group> groups_;
  std::vector<Id> free_groups_;
  std::unordered_map<std::uint64_t, Id> by_name_;
  Links group_links_;
  List recent_groups_;  // front: used last
};

}  // namespace larder::policy
