#include "capi/recipe.hpp"

using namespace larder;

static_assert(LARDER_KEY_HEX_SIZE == 32 + 1);

larder_recipe* larder_recipe_create(larder_view kind, larder_error** error) {
  return capi::guarded(
      error, [&]() -> Result<larder_recipe*> { return new larder_recipe{Recipe(capi::given_text(kind))}; });
}

larder_recipe* larder_recipe_copy(const larder_recipe* recipe, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_recipe*> { return new larder_recipe{recipe->recipe}; });
}

larder_recipe* larder_recipe_from_canonical(larder_view canonical, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_recipe*> {
    auto recipe = Recipe::from_canonical(capi::given_text(canonical));
    if (!recipe) return tl::unexpected<Error>(std::move(recipe.error()));
    return new larder_recipe{std::move(*recipe)};
  });
}

void larder_recipe_destroy(larder_recipe* recipe) {
  delete recipe;
}

bool larder_recipe_add(larder_recipe* recipe, larder_view name, larder_view bytes, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    recipe->recipe.add(capi::given_text(name), capi::given_bytes(bytes));
    return true;
  });
}

larder_view larder_recipe_kind(const larder_recipe* recipe) {
  return capi::to_view(recipe->recipe.kind());
}

size_t larder_recipe_ingredient_count(const larder_recipe* recipe) {
  return capi::guarded(nullptr, [&]() -> Result<size_t> { return recipe->recipe.ingredients().size(); });
}

bool larder_recipe_ingredient(const larder_recipe* recipe, size_t place, larder_ingredient* ingredient) {
  return capi::guarded(nullptr, [&]() -> Result<bool> {
    const std::vector<Ingredient> all = recipe->recipe.ingredients();
    if (place >= all.size()) return false;
    *ingredient = capi::to_c(all[place]);
    return true;
  });
}

larder_view larder_recipe_canonical(const larder_recipe* recipe) {
  return capi::to_view(recipe->recipe.canonical());
}

larder_key larder_recipe_key(const larder_recipe* recipe) {
  return capi::to_c(recipe->recipe.key());
}

bool larder_recipe_is_equal(const larder_recipe* a, const larder_recipe* b) {
  return a->recipe == b->recipe;
}

void larder_key_hex(larder_key key, char hex[LARDER_KEY_HEX_SIZE]) {
  for (int digit = 0; digit < 32; ++digit) {
    const uint64_t half = digit < 16 ? key.high : key.low;
    hex[digit] = "0123456789abcdef"[(half >> (60 - 4 * (digit % 16))) & 15];
  }
  hex[32] = '\0';
}
