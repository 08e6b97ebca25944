#include "policy/grouped.hpp"

namespace larder::policy {

Id Grouped::group_named(std::uint64_t name) {
  if (const auto found = by_name_.find(name); found != by_name_.end()) return found->second;
  if (free_groups_.empty()) {
    groups_.reserve(reach(groups_.capacity(), groups_.size() + 1));
    free_groups_.reserve(groups_.capacity());  // so that leaving needs no memory
    group_links_.reach(static_cast<Id>(groups_.size()));
    groups_.emplace_back();
    free_groups_.push_back(static_cast<Id>(groups_.size() - 1));
  }
  const Id group = free_groups_.back();
  by_name_.emplace(name, group);
  free_groups_.pop_back();
  groups_[group] = {name, {}, 0};
  recent_groups_.push_front(group_links_, group);
  return group;
}

// The entry becomes the most recent of the group, and the group the most recent of all.
void Grouped::join(Id id, Id group) {
  recent_groups_.remove(group_links_, group);
  recent_groups_.push_front(group_links_, group);
  groups_[group].entries.push_front(links_, id);
  ++groups_[group].count;
  group_of_[id] = group;
}

void Grouped::leave(Id id) {
  const Id group = group_of_[id];
  groups_[group].entries.remove(links_, id);
  --groups_[group].count;
}

void Grouped::drop_if_empty(Id group) {
  if (groups_[group].count > 0) return;
  recent_groups_.remove(group_links_, group);
  by_name_.erase(groups_[group].name);
  free_groups_.push_back(group);
}

void Grouped::do_insert(Id id, const Entry& entry, Past) {
  links_.reach(id);
  if (id >= group_of_.size()) group_of_.resize(links_.of.size(), kNoId);
  join(id, group_named(entry.group));
}

void Grouped::do_touch(Id id, Touch touch) {
  const Id before = group_of_[id];
  const Id group = touch.group == Touch::kSameGroup ? before : group_named(touch.group);
  leave(id);
  join(id, group);
  drop_if_empty(before);
}

void Grouped::do_remove(Id id, Departure) {
  leave(id);
  drop_if_empty(group_of_[id]);
}

Id Grouped::do_victim() {
  for (Id group = recent_groups_.back; group != kNoId; group = group_links_.of[group].before) {
    for (Id id = groups_[group].entries.front; id != kNoId; id = links_.of[id].after) {
      if (!is_pinned(id)) return id;
    }
  }
  return kNoId;
}

std::size_t Grouped::do_memory_bytes() const noexcept {
  constexpr std::size_t kNode = 48;  // a node and its bucket, about
  return links_.memory_bytes() + group_links_.memory_bytes() + group_of_.capacity() * sizeof(Id) +
         groups_.capacity() * sizeof(Group) + free_groups_.capacity() * sizeof(Id) + by_name_.size() * kNode;
}

}  // namespace larder::policy
