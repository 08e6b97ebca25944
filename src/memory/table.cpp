#include "memory/table.hpp"

#include <new>

#include "base/assert.hpp"

namespace larder::detail {
namespace {

using Cell = std::atomic<std::uint64_t>;

constexpr std::uint64_t kEmpty = 0;
constexpr std::uint64_t kTombstone = 1;
constexpr unsigned kTagShift = 48;
constexpr std::size_t kCellsMin = 64;

std::uint64_t tag_of(Key key) noexcept {
  return key.high >> kTagShift << kTagShift;
}

std::uint64_t cell_of(const Record* record) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(record);
  LARDER_ASSERT(address >> kTagShift == 0);
  return tag_of(record->key) | address;
}

Record* record_in(std::uint64_t cell) noexcept {
  return reinterpret_cast<Record*>(cell & ((std::uint64_t{1} << kTagShift) - 1));
}

}  // namespace

struct RecipeTable::Array {
  Retired retired;
  std::size_t mask;
  Cell* cells() noexcept { return reinterpret_cast<Cell*>(this + 1); }

  void put(std::uint64_t cell, Key key) noexcept {
    std::size_t place = key.low & mask;
    while (cells()[place].load(std::memory_order_relaxed) != kEmpty) place = (place + 1) & mask;
    cells()[place].store(cell, std::memory_order_release);
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

Record* RecipeTable::find(Key key, std::string_view canonical) const noexcept {
  Array* const array = array_.load(std::memory_order_acquire);
  const std::uint64_t tag = tag_of(key);
  for (std::size_t place = key.low & array->mask;; place = (place + 1) & array->mask) {
    const std::uint64_t cell = array->cells()[place].load(std::memory_order_acquire);
    if (cell == kEmpty) return nullptr;
    if (cell == kTombstone || (cell >> kTagShift << kTagShift) != tag) continue;
    Record* const record = record_in(cell);
    // The key addresses, the bytes prove.
    if (record->key == key && record->canonical() == canonical) return record;
  }
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
      const std::uint64_t cell = array->cells()[i].load(std::memory_order_relaxed);
      if (cell != kEmpty && cell != kTombstone) target->put(cell, record_in(cell)->key);
    }
    used_ = size_;
    replaced = &array->retired;
  }
  target->put(cell_of(record), record->key);
  ++size_;
  ++used_;
  if (replaced != nullptr) array_.store(target, std::memory_order_release);
  return replaced;
}

void RecipeTable::remove(Record* record) noexcept {
  Array* const array = array_.load(std::memory_order_relaxed);
  const std::uint64_t cell = cell_of(record);
  std::size_t place = record->key.low & array->mask;
  while (array->cells()[place].load(std::memory_order_relaxed) != cell) {
    LARDER_ASSERT(array->cells()[place].load(std::memory_order_relaxed) != kEmpty);
    place = (place + 1) & array->mask;
  }
  array->cells()[place].store(kTombstone, std::memory_order_release);
  --size_;
}

std::size_t RecipeTable::memory_bytes() const noexcept {
  return (array_.load(std::memory_order_relaxed)->mask + 1) * sizeof(Cell);
}

}  // namespace larder::detail
