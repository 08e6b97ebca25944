// The canonical encoding of a recipe: writing and reading it, and nothing else.
//
//   canonical  := version kind_size kind ingredient*
//   ingredient := form name_size size name content
//   version    := u8 = 1
//   form       := u8: 0 = content is the ingredient itself, 1 = content is its BLAKE2b-256
//   kind_size, name_size := u32; size := u64: the ingredient's length as it was added
//   kind, name := bytes; content := `size` bytes (form 0) or 32 bytes (form 1)
//
// Integers are little-endian. Every field's length stands before it, so no two recipes share an encoding.
// Form 1 is used exactly when size > kIngredientInlineMax, so one recipe has one encoding.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "larder/recipe.hpp"

namespace larder::canonical {

// Version history: 1 (first).
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::size_t kDigestSize = 32;
using Digest = std::array<unsigned char, kDigestSize>;

// BLAKE2b-256.
Digest digest_of(BytesView bytes) noexcept;

// Both throw std::length_error for a kind or name whose length has no encoding, and std::bad_alloc;
// `canonical` is then as it was.
void append_kind(std::string& canonical, std::string_view kind);
void append_ingredient(std::string& canonical, std::string_view name, BytesView bytes);

// Walks an encoding front to back. Every read is checked, so any bytes may be given.
class Reader {
 public:
  explicit Reader(std::string_view canonical) noexcept : rest_(canonical) {}

  // Must be called first. False: not an encoding.
  bool read_kind(std::string_view& kind) noexcept;
  bool at_end() const noexcept { return rest_.empty(); }
  // False: not an encoding.
  bool read_ingredient(Ingredient& ingredient) noexcept;

 private:
  template <typename Integer>
  bool read(Integer& value) noexcept;
  bool read(std::string_view& field, std::uint64_t size) noexcept;

  std::string_view rest_;
};

}  // namespace larder::canonical
