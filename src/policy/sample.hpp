// Random is a small seeded generator; Sample is a set of ids from which any number can be drawn, O(1) each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "policy/policy.hpp"

namespace larder::policy {

// One step of splitmix64: mixes any 64 bits well.
constexpr std::uint64_t mix(std::uint64_t bits) noexcept {
  bits += 0x9e3779b97f4a7c15;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

class Random {
 public:
  explicit Random(std::uint64_t seed) noexcept : state_(mix(seed)) {}
  std::uint64_t next() noexcept { return mix(state_ += 0x9e3779b97f4a7c15); }
  // 0 .. below - 1; `below` fits 32 bits and is not 0.
  std::uint32_t next(std::size_t below) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32) * below) >> 32);
  }

 private:
  std::uint64_t state_;
};

// Ids in no order. The owner keeps each id's place, which insert() and remove() tell it.
class Sample {
 public:
  // Makes room for so many, so that insert() needs no memory up to there.
  void reserve(std::size_t count) { ids_.reserve(reach(ids_.capacity(), count)); }
  // The place of the id from now on.
  std::uint32_t insert(Id id) {
    ids_.push_back(id);
    return static_cast<std::uint32_t>(ids_.size() - 1);
  }
  // The id that stands at this place from now on; kNoId when none does.
  Id remove(std::uint32_t place) {
    const Id moved = ids_.back();
    ids_.pop_back();
    if (place == ids_.size()) return kNoId;
    ids_[place] = moved;
    return moved;
  }
  // Into `drawn`: all when there are no more than `count`, else so many drawn with repetition.
  void draw(std::size_t count, Random& random, std::vector<Id>& drawn) const {
    if (ids_.size() <= count) {
      drawn = ids_;
      return;
    }
    drawn.resize(count);
    for (Id& id : drawn) id = ids_[random.next(ids_.size())];
  }
  std::size_t size() const noexcept { return ids_.size(); }
  std::size_t memory_bytes() const noexcept { return ids_.capacity() * sizeof(Id); }

 private:
  std::vector<Id> ids_;
};

}  // namespace larder::policy
