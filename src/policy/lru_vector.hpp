// LruVector is LRU for small tables: entries stand in a vector, each with a number taken from a counter that
// goes down at every use, so the highest number is the one to replace. Searches begin at the most recent
// entry, because what was asked for last is asked for next. victim() and find() are O(entries): the price of
// an array without links.
#pragma once

#include <vector>

#include "policy/policy.hpp"

namespace larder::policy {

class LruVector final : public Policy {
 public:
  // The first id for which `matches` holds, seen from the most recent entry onwards and around; kNoId for
  // none.
  template <typename Matches>
  Id find(Matches matches) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::size_t place = recent_ + i < places_.size() ? recent_ + i : recent_ + i - places_.size();
      if (places_[place].id != kNoId && matches(places_[place].id)) return places_[place].id;
    }
    return kNoId;
  }

 private:
  struct Place {
    Id id = kNoId;  // kNoId: free
    Tick number = 0;
  };

  void do_insert(Id id, const Entry& entry, Past past) override;
  void do_touch(Id id, Touch touch) override;
  void do_remove(Id id, Departure departure) override;
  Id do_victim() override;
  std::size_t do_memory_bytes() const noexcept override;
  void use(std::size_t place, Tick when);

  std::vector<Place> places_;
  std::vector<std::uint32_t> place_of_;  // by id
  std::vector<std::uint32_t> free_;
  std::size_t recent_ = 0;  // the place used last
};

}  // namespace larder::policy
