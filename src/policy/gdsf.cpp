#include "policy/gdsf.hpp"

#include <algorithm>

namespace larder::policy {

double Gdsf::value(std::uint64_t weight, std::uint64_t cost) const noexcept {
  const double paid = with_cost_ ? static_cast<double>(std::max<std::uint64_t>(cost, 1)) : 1;
  return paid / static_cast<double>(std::max<std::uint64_t>(weight, 1));
}

void Gdsf::do_insert(Id id, const Entry& entry, Past past) {
  if (id >= known_.size()) known_.resize(static_cast<std::size_t>(id) + 1);
  heap_.reserve(reach(heap_.capacity(), size() + 1));
  const double worth_of_one = value(entry.weight, entry.cost);
  known_[id] = {worth_of_last_ + worth_of_one * past.uses, worth_of_one, past.uses, 0};
  push(id);
}

void Gdsf::do_touch(Id id, Touch touch) {
  Known& known = known_[id];
  known.uses = more(known.uses, touch.uses);
  known.worth = worth_of_last_ + known.value * known.uses;
  if (!is_pinned(id)) settle(known.place);
}

// The part of the worth that uses gave changes, the part that age gave stays.
void Gdsf::do_reweigh(Id id, std::uint64_t weight, std::uint64_t cost) {
  Known& known = known_[id];
  const double changed = value(weight, cost);
  known.worth += (changed - known.value) * known.uses;
  known.value = changed;
  if (!is_pinned(id)) settle(known.place);
}

void Gdsf::do_remove(Id id, Departure departure) {
  if (departure == Departure::evicted) worth_of_last_ = std::max(worth_of_last_, known_[id].worth);
  take_out(id);
}

void Gdsf::do_pin(Id id) {
  take_out(id);
}
void Gdsf::do_unpin(Id id) {
  push(id);
}

void Gdsf::push(Id id) {
  known_[id].place = static_cast<std::uint32_t>(heap_.size());
  heap_.push_back(id);
  settle(known_[id].place);
}

void Gdsf::take_out(Id id) {
  const std::size_t place = known_[id].place;
  const Id last = heap_.back();
  heap_.pop_back();
  if (last == id) return;
  heap_[place] = last;
  known_[last].place = static_cast<std::uint32_t>(place);
  settle(place);
}

// Moves the entry at a place up or down to where it belongs.
void Gdsf::settle(std::size_t place) {
  const Id id = heap_[place];
  const double worth = known_[id].worth;
  const auto put = [&](std::size_t to, Id who) {
    heap_[to] = who;
    known_[who].place = static_cast<std::uint32_t>(to);
  };
  for (; place > 0 && known_[heap_[(place - 1) / 2]].worth > worth; place = (place - 1) / 2) {
    put(place, heap_[(place - 1) / 2]);
  }
  for (std::size_t child; (child = 2 * place + 1) < heap_.size(); place = child) {
    if (child + 1 < heap_.size() && known_[heap_[child + 1]].worth < known_[heap_[child]].worth) ++child;
    if (known_[heap_[child]].worth >= worth) break;
    put(place, heap_[child]);
  }
  put(place, id);
}

std::size_t Gdsf::do_memory_bytes() const noexcept {
  return known_.capacity() * sizeof(Known) + heap_.capacity() * sizeof(Id);
}

}  // namespace larder::policy
