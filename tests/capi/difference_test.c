#include "check.h"
#include "larder/larder.h"

static larder_recipe* program(const char* source, const char* driver) {
  larder_recipe* recipe = larder_recipe_create(larder_text("opencl-program"), NULL);
  CHECK(larder_recipe_add(recipe, larder_text("source"), larder_text(source), NULL));
  CHECK(larder_recipe_add(recipe, larder_text("driver"), larder_text(driver), NULL));
  return recipe;
}

static void names_what_changed(void) {
  larder_recipe* before = program("f()", "22");
  larder_recipe* after = program("f()", "23");
  larder_difference* difference = larder_difference_create(before, after, NULL);
  larder_change change;
  larder_bytes* text;
  CHECK(!larder_difference_is_empty(difference));
  CHECK(larder_difference_change_count(difference) == 1);
  CHECK(larder_difference_change(difference, 0, &change));
  CHECK(change.kind == LARDER_CHANGE_CHANGED && change.place_before == 1 && change.place_after == 1);
  CHECK_TEXT(change.before.bytes, "22");
  CHECK_TEXT(change.after.bytes, "23");
  CHECK(!larder_difference_change(difference, 1, &change));
  text = larder_difference_text(difference, 0, NULL);
  CHECK_TEXT(larder_bytes_view(text), "changed driver: \"22\" -> \"23\"\n");
  CHECK(strlen(larder_bytes_view(text).data) == larder_bytes_view(text).size);
  larder_bytes_destroy(text);
  text = larder_difference_text(difference, 20, NULL);
  CHECK(larder_bytes_view(text).size <= 20);
  larder_bytes_destroy(text);
  larder_difference_destroy(difference);
  larder_recipe_destroy(after);
  larder_recipe_destroy(before);
}

static void says_where_nothing_is(void) {
  larder_recipe* before = larder_recipe_create(larder_text("k"), NULL);
  larder_recipe* after = larder_recipe_create(larder_text("k"), NULL);
  larder_difference* difference = larder_difference_create(before, after, NULL);
  larder_change change;
  CHECK(larder_difference_is_empty(difference));
  larder_difference_destroy(difference);
  CHECK(larder_recipe_add(after, larder_text("new"), larder_text("x"), NULL));
  difference = larder_difference_create(before, after, NULL);
  CHECK(larder_difference_change(difference, 0, &change));
  CHECK(change.kind == LARDER_CHANGE_ADDED && change.place_before == LARDER_NO_PLACE &&
        change.place_after == 0);
  CHECK(change.before.name.size == 0 && change.before.size == 0);
  CHECK(strcmp(larder_change_name(change.kind), "added") == 0);
  CHECK(strcmp(larder_change_name((larder_change_kind)77), "unknown") == 0);
  larder_difference_destroy(difference);
  larder_difference_destroy(NULL);
  larder_recipe_destroy(after);
  larder_recipe_destroy(before);
}

static void finds_the_nearest(void) {
  larder_recipe* wanted = program("f()", "23");
  larder_recipe* far_away = program("g()", "21");
  larder_recipe* close_by = program("f()", "22");
  larder_nearest* nearest = larder_nearest_create(wanted, NULL);
  larder_error* error = NULL;
  larder_recipe* found;
  uint64_t id = 0;
  bool is_looked_at = false;
  CHECK(larder_nearest_found(nearest, &id, &error) == NULL);
  CHECK(error != NULL && larder_error_code(error) == LARDER_NOT_FOUND);
  larder_error_destroy(error);
  CHECK(larder_nearest_offer(nearest, far_away, 1, NULL, NULL));
  CHECK(larder_nearest_offer(nearest, close_by, 2, &is_looked_at, &error));
  CHECK(is_looked_at && error == NULL);
  found = larder_nearest_found(nearest, &id, NULL);
  CHECK(id == 2 && larder_recipe_is_equal(found, close_by));
  larder_recipe_destroy(found);
  larder_nearest_destroy(nearest);
  larder_recipe_destroy(close_by);
  larder_recipe_destroy(far_away);
  larder_recipe_destroy(wanted);
}

int main(void) {
  names_what_changed();
  says_where_nothing_is();
  finds_the_nearest();
  return failures != 0;
}
