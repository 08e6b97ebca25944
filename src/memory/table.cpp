#include "memory/table.hpp"

#include <new>

#include "base/assert.hpp"

namespace larder::detail {
namespace {

using Cell = std::atomic<std::uint64_t>;

constexpr unsigned kTagShift = 48;
constexpr std::uint64_t kTagBits = ~std::uint64_t{0} << kTagShift;
constexpr std::uint64_t kEmpty = 0;
// In the word of a record that readers must not look at; alone: a tombstone.
constexpr std::uint64_t kHidden = 1;
constexpr std::uint64_t kTombstone = kHidden;
constexpr std::size_t kCellsMin = 64;

std::uint64_t tag_of(Key key) noexcept {
  return key.high & kTagBits;
}

std::uint64_t cell_of(const Record* record) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(record);
  LARDER_ASSERT((address & (kTagBits | kHidden)) == 0);
  return tag_of(record->key) | address;
}

Record* record_in(std::uint64_t cell) noexcept {
  return reinterpret_cast<Record*>(cell & ~(kTagBits | kHidden));
}

}  // namespace

struct RecipeTable::Array {
  Retired retired;
  std::size_t mask;
  Cell* cells() noexcept { return reinterpret_cast<Cell*>(this + 1); }

  std::uint64_t at(std::size_t place) noexcept { return cells()[place].load(std::memory_order_relaxed); }
  std::size_t bytes() const noexcept { return sizeof(Array) + (mask + 1) * sizeof(Cell); }

  // True: in a word that was empty.
  bool put(std::uint64_t cell, Key key) noexcept {
    std::size_t place = key.low & mask;
    while (at(place) != kEmpty && at(place) != kTombstone) place = (place + 1) & mask;
    const bool was_empty = at(place) == kEmpty;
    cells()[place].store(cell, std::memory_order_release);
    return was_empty;
  }

  // Whether finding an entry takes a look at the word: it stands behind it, and belongs at it or before it.
  bool is_passed(std::size_t place) noexcept {
    for (std::size_t other = (place + 1) & mask; at(other) != kEmpty; other = (other + 1) & mask) {
      if (at(other) == kTombstone) continue;
      const std::size_t way = (other - record_in(at(other))->key.low) & mask;
      if (way >= ((other - place) & mask)) return true;
    }
    return false;
  }

  std::size_t place_of(const Record* record) noexcept {
    std::size_t place = record->key.low & mask;
    while ((at(place) & ~kHidden) != cell_of(record)) {
      LARDER_ASSERT(at(place) != kEmpty);
      place = (place + 1) & mask;
    }
    return place;
  }
};

RecipeTable::RecipeTable() : array_(make_array(kCellsMin)) {}
RecipeTable::~RecipeTable() {
  free_array(&array_.load(std::memory_order_relaxed)->retired);
}

RecipeTable::Array* RecipeTable::make_array(std::size_t cells) {
  auto* const array = ::new (::operator new(sizeof(Array) + cells * sizeof(Cell))) Array;
  array->mask = cells - 1;
  for (std::size_t i = 0; i < cells; ++i) ::new (static_cast<void*>(array->cells() + i)) Cell(kEmpty);
  return array;
}

void RecipeTable::free_array(Retired* array) noexcept {
  static_assert(offsetof(Array, retired) == 0);
  ::operator delete(reinterpret_cast<Array*>(array));
}

std::size_t RecipeTable::array_bytes(const Retired& array) noexcept {
  return reinterpret_cast<const Array*>(&array)->bytes();
}

template <bool kWithHidden>
Record* RecipeTable::look(Key key, std::string_view canonical) const noexcept {
  Array* const array = array_.load(std::memory_order_acquire);
  const std::uint64_t tag = tag_of(key);
  for (std::size_t place = key.low & array->mask;; place = (place + 1) & array->mask) {
    const std::uint64_t cell = array->cells()[place].load(std::memory_order_acquire);
    if (cell == kEmpty) return nullptr;
    if constexpr (kWithHidden) {
      if (cell == kTombstone || (cell & kTagBits) != tag) continue;
    } else {
      if (((cell ^ tag) & (kTagBits | kHidden)) != 0) continue;
    }
    Record* const record = record_in(cell);
    // The key addresses, the bytes prove.
    if (record->key == key && record->canonical() == canonical) return record;
  }
}

Record* RecipeTable::find(Key key, std::string_view canonical) const noexcept {
  return look<false>(key, canonical);
}
Record* RecipeTable::find_any(Key key, std::string_view canonical) const noexcept {
  return look<true>(key, canonical);
}

Retired* RecipeTable::insert(Record* record) {
  Array* const array = array_.load(std::memory_order_relaxed);
  const std::size_t cells = array->mask + 1;
  Retired* replaced = nullptr;
  Array* target = array;
  if (2 * (used_ + 1) > cells) {
    // Many tombstones: the same size once more, without them.
    target = make_array(4 * (size_ + 1) > cells ? 2 * cells : cells);
    for (std::size_t i = 0; i < cells; ++i) {
      const std::uint64_t cell = array->at(i);
      if (cell != kEmpty && cell != kTombstone) target->put(cell, record_in(cell)->key);
    }
    used_ = size_;
    replaced = &array->retired;
  }
  if (target->put(cell_of(record) | kHidden, record->key)) ++used_;
  ++size_;
  if (replaced != nullptr) array_.store(target, std::memory_order_release);
  return replaced;
}

void RecipeTable::show(Record* record) noexcept {
  Array* const array = array_.load(std::memory_order_relaxed);
  array->cells()[array->place_of(record)].store(cell_of(record), std::memory_order_release);
}

void RecipeTable::remove(Record* record) noexcept {
  Array* const array = array_.load(std::memory_order_relaxed);
  std::size_t place = array->place_of(record);
  array->cells()[place].store(kTombstone, std::memory_order_release);
  --size_;
  // I1. The hidden may come and go any number of times while a reader keeps a replaced array from being
  // freed, so theirs is the longer look.
  const bool is_needed =
      record->is_shown ? array->at((place + 1) & array->mask) != kEmpty : array->is_passed(place);
  if (is_needed) return;
  for (; array->at(place) == kTombstone; place = (place - 1) & array->mask) {
    array->cells()[place].store(kEmpty, std::memory_order_release);
    --used_;
  }
}

std::size_t RecipeTable::memory_bytes() const noexcept {
  return array_.load(std::memory_order_relaxed)->bytes();
}

}  // namespace larder::detail
