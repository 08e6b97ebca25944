#include "policy/clock.hpp"

namespace larder::policy {

void ClockLines::do_insert(Id id, const Entry&, Past) {
  if (id >= line_of_.size()) line_of_.resize(static_cast<std::size_t>(id) + 1);
  if (free_.empty()) {
    lines_.reserve(reach(lines_.capacity(), lines_.size() + 1));
    free_.reserve(lines_.capacity());  // so that removing needs no memory
    lines_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(lines_.size() - 1));
  }
  const std::uint32_t line = free_.back();
  free_.pop_back();
  line_of_[id] = line;
  lines_[line] = {id, false};
}

void ClockLines::do_touch(Id id, Touch) {
  lines_[line_of_[id]].used = true;
}

void ClockLines::do_remove(Id id, Departure departure) {
  const std::uint32_t line = line_of_[id];
  lines_[line] = {};
  free_.push_back(line);
  if (departure == Departure::evicted && line == next_) move_on();
}

Id ClockLines::do_victim() {
  for (;; move_on()) {
    Line& line = lines_[next_];
    if (line.id == kNoId || is_pinned(line.id)) continue;
    if (!line.used) return line.id;
    line.used = false;
  }
}

std::size_t ClockLines::do_memory_bytes() const noexcept {
  return lines_.capacity() * sizeof(Line) + (line_of_.capacity() + free_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace larder::policy
