// A Recipe is the whole identity of a product: its kind and its ordered ingredients.
// Recipes are values: copy them freely; one object must not be changed while another thread uses it.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/export.h"
#include "larder/result.hpp"

namespace larder {

// XXH3-128 of a recipe's canonical bytes. It addresses; it does not prove.
struct Key {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend auto operator<=>(const Key&, const Key&) = default;

  // 32 lower-case hex digits, high half first.
  LARDER_API std::string hex() const;
};

// Ingredients longer than this stand in the recipe as their length and BLAKE2b-256.
inline constexpr std::size_t kIngredientInlineMax = 64 * 1024;

// One ingredient as it stands in the canonical bytes; the views live as long as those bytes.
struct Ingredient {
  std::string_view name;
  bool is_digest = false;  // true: `bytes` is the BLAKE2b-256 of an ingredient of `size` bytes
  BytesView bytes;         // the ingredient itself, or its 32-byte digest
  std::uint64_t size = 0;  // length of the ingredient as it was added
};

class LARDER_API Recipe {
 public:
  // Throws std::bad_alloc, and std::length_error for a kind of 4 GiB or more.
  explicit Recipe(std::string_view kind);
  Recipe(const Recipe&) = default;
  Recipe& operator=(const Recipe&) = default;
  // What was moved from is Recipe("").
  Recipe(Recipe&& other) noexcept : canonical_(std::move(other.canonical_)) { other.canonical_.clear(); }
  Recipe& operator=(Recipe&& other) noexcept {
    if (this != &other) {
      canonical_ = std::move(other.canonical_);
      other.canonical_.clear();
    }
    return *this;
  }
  ~Recipe() = default;

  // Appends an ingredient; order counts and a name may come twice. O(size). Throws std::bad_alloc, and
  // std::length_error for a name of 4 GiB or more; the recipe is then as it was.
  Recipe& add(std::string_view name, std::string_view text) { return add(name, as_bytes(text)); }
  Recipe& add(std::string_view name, BytesView bytes);
  // Without this a string literal would be as good a span as a string.
  Recipe& add(std::string_view name, const char* text) { return add(name, std::string_view(text)); }

  std::string_view kind() const noexcept;
  // The ingredients in their order. O(ingredients).
  std::vector<Ingredient> ingredients() const;
  // The length-prefixed encoding (grammar: docs/format.md). No two recipes share one.
  std::string_view canonical() const noexcept {
    return canonical_.empty() ? std::string_view("\1\0\0\0\0", 5) : std::string_view(canonical_);
  }
  // O(size of the canonical bytes); remembered by nobody: intern the recipe for lookups that hash nothing.
  Key key() const noexcept;

  // Equal means equal canonical bytes, never merely equal keys.
  friend bool operator==(const Recipe& a, const Recipe& b) noexcept { return a.canonical() == b.canonical(); }

  // Reads an encoding back; `damaged` when `canonical` is not exactly what some Recipe would write.
  static Result<Recipe> from_canonical(std::string_view canonical);

 private:
  Recipe() = default;
  std::string canonical_;  // empty: moved from
};

}  // namespace larder
