// ClockLines are numbered cache lines with a used bit each and the number of the next line to look at. A use
// sets the bit of its line. To make room, the line at the next index is replaced if its bit is clear;
// otherwise the bit is cleared and the index moves on, around the lines. Placing an entry leaves the bit
// clear.
//
// Lines appear as entries come and are filled again in the order in which they fell free, so with equal
// weights the new entry takes the very line of its victim. Where weights differ several lines may fall free
// for one entry.
#pragma once

#include <vector>

#include "policy/policy.hpp"

namespace larder::policy {

class ClockLines final : public Policy {
 public:
  // For those who show the lines: how many there are, which entry a line holds (kNoId: free), the line looked
  // at next.
  std::size_t lines() const noexcept { return lines_.size(); }
  Id at(std::size_t line) const noexcept { return lines_[line].id; }
  bool is_used(std::size_t line) const noexcept { return lines_[line].used; }
  std::size_t next() const noexcept { return next_; }

 private:
  struct Line {
    Id id = kNoId;
    bool used = false;
  };

  void do_insert(Id id, const Entry& entry, Past past) override;
  void do_touch(Id id, Touch touch) override;
  void do_remove(Id id, Departure departure) override;
  Id do_victim() override;
  std::size_t do_memory_bytes() const noexcept override;
  void move_on() noexcept { next_ = next_ + 1 == lines_.size() ? 0 : next_ + 1; }

  std::vector<Line> lines_;
  std::vector<std::uint32_t> line_of_;  // by id
  std::vector<std::uint32_t> free_;
  std::size_t next_ = 0;
};

}  // namespace larder::policy
