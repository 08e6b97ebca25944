// Selected says which entries of a store a Selector means. Any thread may ask.
#pragma once

#include <string_view>
#include <unordered_set>

#include "cache/misses.hpp"
#include "larder/cache.hpp"
#include "store/notes.hpp"
#include "store/store.hpp"

namespace larder {

// Whether an ingredient of `recipe` is `path`, or a path below it.
bool names_path(const Recipe& recipe, std::string_view path);

class Selected {
 public:
  // `selector` must live longer; what it says of a program is looked up in `notes`. `now` is nanoseconds
  // since 1970.
  Selected(const Selector& selector, const Notes& notes, std::int64_t now);

  // Nothing but the key decides: entries need not be read.
  bool is_by_key() const noexcept;
  // False: whatever the entry says, it is not meant.
  bool may_be(const Key& key) const;
  // Whether kind and content of a recipe are meant; `canonical` are its bytes.
  bool is_recipe(std::string_view canonical) const;
  // Both of these and the age.
  bool is(const EntryInfo& info) const;
  // A miss says itself whose it was and when.
  bool is(const Miss& miss) const;

 private:
  struct HashKey {
    std::size_t operator()(const Key& key) const noexcept { return static_cast<std::size_t>(key.low); }
  };

  bool is_old_enough(std::int64_t at_unix_ns) const noexcept;

  const Selector& selector_;
  std::int64_t now_;
  std::unordered_set<Key, HashKey> of_program_;
};

}  // namespace larder
