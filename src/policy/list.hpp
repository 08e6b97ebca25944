// Links and List are doubly linked lists over ids: the links of all ids stand in one array, and any number of
// lists share it, an id being in one of them at most. Front is where the most recent stand. ParkingList is
// one list with a place beside it for pinned entries that reached its back.
#pragma once

#include <cstddef>
#include <vector>

#include "policy/policy.hpp"

namespace larder::policy {

struct Links {
  struct Link {
    Id before = kNoId;  // towards the front
    Id after = kNoId;   // towards the back
  };

  void reach(Id id) {
    if (id >= of.size()) of.resize(static_cast<std::size_t>(id) + 1);
  }
  std::size_t memory_bytes() const noexcept { return of.capacity() * sizeof(Link); }

  std::vector<Link> of;
};

struct List {
  Id front = kNoId;
  Id back = kNoId;

  bool empty() const noexcept { return front == kNoId; }

  void push_front(Links& links, Id id) {
    links.of[id] = {kNoId, front};
    (front == kNoId ? back : links.of[front].before) = id;
    front = id;
  }

  void push_back(Links& links, Id id) {
    links.of[id] = {back, kNoId};
    (back == kNoId ? front : links.of[back].after) = id;
    back = id;
  }

  void remove(Links& links, Id id) {
    const Links::Link link = links.of[id];
    (link.before == kNoId ? front : links.of[link.before].after) = link.after;
    (link.after == kNoId ? back : links.of[link.after].before) = link.before;
    links.of[id] = {};
  }
};

// A pinned entry at the back would be passed by at every look for a victim. Parked once, it is out of the
// way, and it returns to the back, where it stood, when its pin goes.
class ParkingList {
 public:
  Id back() const noexcept { return order_.back; }

  void push_front(Id id) {
    links_.reach(id);
    if (id >= is_parked_.size()) is_parked_.resize(links_.of.size());
    order_.push_front(links_, id);
  }

  void remove(Id id) {
    (is_parked_[id] ? parked_ : order_).remove(links_, id);
    is_parked_[id] = false;
  }

  void park_back() {
    const Id id = order_.back;
    order_.remove(links_, id);
    parked_.push_front(links_, id);
    is_parked_[id] = true;
  }

  // Nothing happens where it is not parked.
  void leave_parking(Id id) {
    if (!is_parked_[id]) return;
    remove(id);
    order_.push_back(links_, id);
  }

  std::size_t memory_bytes() const noexcept { return links_.memory_bytes() + is_parked_.capacity() / 8; }

 private:
  Links links_;
  List order_;
  List parked_;
  std::vector<bool> is_parked_;
};

}  // namespace larder::policy
