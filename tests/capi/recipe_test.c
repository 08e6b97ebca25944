#include "check.h"
#include "larder/larder.h"

static larder_recipe* program(const char* source, const char* options) {
  larder_recipe* recipe = larder_recipe_create(larder_text("opencl-program"), NULL);
  CHECK(recipe != NULL);
  CHECK(larder_recipe_add(recipe, larder_text("source"), larder_text(source), NULL));
  CHECK(larder_recipe_add(recipe, larder_text("options"), larder_text(options), NULL));
  return recipe;
}

static void gives_its_parts_back(void) {
  larder_recipe* recipe = program("f()", "-O2");
  larder_ingredient one;
  CHECK_TEXT(larder_recipe_kind(recipe), "opencl-program");
  CHECK(larder_recipe_ingredient_count(recipe) == 2);
  CHECK(larder_recipe_ingredient(recipe, 1, &one));
  CHECK_TEXT(one.name, "options");
  CHECK_TEXT(one.bytes, "-O2");
  CHECK(one.size == 3 && !one.is_digest);
  CHECK(!larder_recipe_ingredient(recipe, 2, &one));
  larder_recipe_destroy(recipe);
}

static void keeps_the_digest_of_a_large_ingredient(void) {
  static const char large[70000] = {1};
  larder_recipe* recipe = larder_recipe_create(larder_text("k"), NULL);
  larder_view view;
  larder_ingredient one;
  view.data = large;
  view.size = sizeof large;
  CHECK(larder_recipe_add(recipe, larder_text("large"), view, NULL));
  CHECK(larder_recipe_ingredient(recipe, 0, &one));
  CHECK(one.is_digest && one.size == sizeof large && one.bytes.size == 32);
  larder_recipe_destroy(recipe);
}

static void has_one_key_and_one_encoding(void) {
  larder_recipe* a = program("f()", "-O2");
  larder_recipe* b = program("f()", "-O2");
  larder_recipe* other = program("f()-", "O2");
  larder_key key = larder_recipe_key(a);
  char hex[LARDER_KEY_HEX_SIZE];
  CHECK(larder_recipe_is_equal(a, b));
  CHECK(!larder_recipe_is_equal(a, other));
  CHECK(key.high == larder_recipe_key(b).high && key.low == larder_recipe_key(b).low);
  CHECK(key.low != larder_recipe_key(other).low);
  larder_key_hex(key, hex);
  CHECK(strlen(hex) == 32);
  key.high = 0x0123456789abcdefu;
  key.low = 0xfedcba9876543210u;
  larder_key_hex(key, hex);
  CHECK(strcmp(hex, "0123456789abcdeffedcba9876543210") == 0);
  larder_recipe_destroy(a);
  larder_recipe_destroy(b);
  larder_recipe_destroy(other);
}

static void comes_back_from_its_canonical_bytes(void) {
  larder_recipe* recipe = program("f()", "-O2");
  larder_error* error = NULL;
  larder_view canonical = larder_recipe_canonical(recipe);
  larder_recipe* again = larder_recipe_from_canonical(canonical, &error);
  larder_recipe* copy = larder_recipe_copy(recipe, NULL);
  CHECK(again != NULL && error == NULL && larder_recipe_is_equal(recipe, again));
  CHECK(larder_recipe_add(copy, larder_text("more"), larder_text("x"), NULL));
  CHECK(!larder_recipe_is_equal(recipe, copy));
  canonical.size -= 1;
  CHECK(larder_recipe_from_canonical(canonical, &error) == NULL);
  CHECK(error != NULL && larder_error_code(error) == LARDER_DAMAGED);
  CHECK(strcmp(larder_error_message(error), "recipe: not a canonical encoding") == 0);
  larder_error_destroy(error);
  larder_recipe_destroy(copy);
  larder_recipe_destroy(again);
  larder_recipe_destroy(recipe);
  larder_recipe_destroy(NULL);
}

static void refuses_a_name_that_has_no_encoding(void) {
  larder_recipe* recipe = program("f()", "-O2");
  larder_recipe* before = larder_recipe_copy(recipe, NULL);
  larder_error* error = NULL;
  larder_view endless;
  endless.data = "x";
  endless.size = (size_t)1 << 32;
  CHECK(!larder_recipe_add(recipe, endless, larder_text("x"), &error));
  CHECK(error != NULL && larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  CHECK(larder_recipe_is_equal(recipe, before));
  larder_error_destroy(error);
  larder_recipe_destroy(before);
  larder_recipe_destroy(recipe);
}

int main(void) {
  gives_its_parts_back();
  keeps_the_digest_of_a_large_ingredient();
  has_one_key_and_one_encoding();
  comes_back_from_its_canonical_bytes();
  refuses_a_name_that_has_no_encoding();
  return failures != 0;
}
