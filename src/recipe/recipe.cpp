#include "larder/recipe.hpp"

#include "recipe/canonical.hpp"
#include "recipe/key_hash.hpp"

namespace larder {

std::string Key::hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (std::size_t i = 0; i < 16; ++i) {
    text[i] = kDigits[(high >> (60 - 4 * i)) & 15];
    text[16 + i] = kDigits[(low >> (60 - 4 * i)) & 15];
  }
  return text;
}

Recipe::Recipe(std::string_view kind) {
  canonical::append_kind(canonical_, kind);
}

Recipe& Recipe::add(std::string_view name, BytesView bytes) {
  if (canonical_.empty()) canonical::append_kind(canonical_, {});
  canonical::append_ingredient(canonical_, name, bytes);
  return *this;
}

std::string_view Recipe::kind() const noexcept {
  std::string_view kind;
  canonical::Reader(canonical()).read_kind(kind);
  return kind;
}

std::vector<Ingredient> Recipe::ingredients() const {
  std::vector<Ingredient> all;
  canonical::Reader reader(canonical());
  std::string_view kind;
  reader.read_kind(kind);
  for (Ingredient one; reader.read_ingredient(one);) all.push_back(one);
  return all;
}

Key Recipe::key() const noexcept {
  return key_of(canonical());
}

Result<Recipe> Recipe::from_canonical(std::string_view canonical) {
  canonical::Reader reader(canonical);
  std::string_view kind;
  bool good = reader.read_kind(kind);
  for (Ingredient one; good && !reader.at_end();) good = reader.read_ingredient(one);
  if (!good) return fail(Code::damaged, "recipe: not a canonical encoding");
  Recipe recipe;
  recipe.canonical_ = canonical;
  return recipe;
}

}  // namespace larder
