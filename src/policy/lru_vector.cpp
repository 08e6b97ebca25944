#include "policy/lru_vector.hpp"

#include <algorithm>

namespace larder::policy {

void LruVector::do_insert(Id id, const Entry&, Past past) {
  if (id >= place_of_.size()) place_of_.resize(static_cast<std::size_t>(id) + 1);
  if (free_.empty()) {
    places_.reserve(reach(places_.capacity(), places_.size() + 1));
    free_.reserve(places_.capacity());  // so that removing needs no memory
    places_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(places_.size() - 1));
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  place_of_[id] = place;
  places_[place] = {id, kNow};
  use(place, past.when);
}

void LruVector::do_touch(Id id, Touch touch) {
  use(place_of_[id], touch.when);
}

// The counter goes down as the clock goes up. News of an older use than the one known changes nothing.
void LruVector::use(std::size_t place, Tick when) {
  places_[place].number = std::min(places_[place].number, kNow - when);
  if (when == now()) recent_ = place;
}

void LruVector::do_remove(Id id, Departure) {
  places_[place_of_[id]].id = kNoId;
  free_.push_back(place_of_[id]);
}

Id LruVector::do_victim() {
  Place oldest;
  for (const Place& place : places_) {
    if (place.id != kNoId && !is_pinned(place.id) && (oldest.id == kNoId || place.number > oldest.number)) {
      oldest = place;
    }
  }
  return oldest.id;
}

std::size_t LruVector::do_memory_bytes() const noexcept {
  return places_.capacity() * sizeof(Place) +
         (place_of_.capacity() + free_.capacity()) * sizeof(std::uint32_t);
}

}  // namespace larder::policy
