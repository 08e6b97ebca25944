// A RecipeTable finds a record by its recipe: an open-addressing table of one word per slot, 16 bits of the
// key beside the pointer. Readers take no lock; they may miss what is being moved, and then ask again under
// the lock.
//
// A record comes in hidden: readers pass its word by without following it. It is shown when it has a product,
// and stays so. One that was never shown may be freed as soon as it is removed.
//
// I1  A tombstone takes an entry again, and becomes empty only where no entry is found by way of it. A
// growing table is a new table. I2  What readers could have followed, entry or table, is freed only when no
// pinned reader can hold it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "larder/detail/epoch.hpp"
#include "larder/recipe.hpp"
#include "memory/record.hpp"

namespace larder::detail {

class RecipeTable {
 public:
  // Throws std::bad_alloc.
  RecipeTable();
  ~RecipeTable();
  RecipeTable(const RecipeTable&) = delete;
  RecipeTable& operator=(const RecipeTable&) = delete;

  // Any thread that is pinned, among the shown. What it finds is right; what it does not find may be there.
  Record* find(Key key, std::string_view canonical) const noexcept;

  // The rest is for one thread at a time.

  // Among all. What it does not find is not there.
  Record* find_any(Key key, std::string_view canonical) const noexcept;
  // Hidden. The recipe must not be in the table. Returns the array that this one took the place of, to be
  // retired with free_array, or null. Throws std::bad_alloc.
  Retired* insert(Record* record);
  void show(Record* record) noexcept;
  void remove(Record* record) noexcept;
  std::size_t size() const noexcept { return size_; }
  std::size_t memory_bytes() const noexcept;
  static void free_array(Retired* array) noexcept;
  static std::size_t array_bytes(const Retired& array) noexcept;

 private:
  struct Array;
  static Array* make_array(std::size_t cells);
  template <bool kWithHidden>
  Record* look(Key key, std::string_view canonical) const noexcept;

  std::atomic<Array*> array_;
  std::size_t size_ = 0;
  std::size_t used_ = 0;  // entries and tombstones
};

}  // namespace larder::detail
