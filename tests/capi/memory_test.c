#include "check.h"
#include "larder/larder.h"

static int destroyed;

static void destroy(void* object, void* context) {
  (void)object;
  ++*(int*)context;
}

/* Makes the object that `context` points to, and counts in it. */
static bool make(larder_object* made, larder_error** why, void* context) {
  (void)why;
  ++*(int*)context;
  made->object = context;
  made->weight = 100;
  made->destroy = destroy;
  made->context = &destroyed;
  return true;
}

static bool refuse(larder_object* made, larder_error** why, void* context) {
  (void)made;
  (void)context;
  *why = larder_error_create(LARDER_MAKER_FAILED, larder_text("compile: line 3: no such type"));
  return false;
}

static larder_interned* intern(larder_memory* memory, const char* name) {
  larder_recipe* recipe = larder_recipe_create(larder_text("object"), NULL);
  larder_interned* interned;
  CHECK(larder_recipe_add(recipe, larder_text("name"), larder_text(name), NULL));
  interned = larder_memory_intern(memory, recipe, NULL);
  CHECK(interned != NULL);
  larder_recipe_destroy(recipe);
  return interned;
}

static void makes_once_and_holds(void) {
  larder_memory* memory = larder_memory_create(NULL, NULL);
  larder_interned* recipe = intern(memory, "a");
  larder_answer answer;
  larder_held* first;
  larder_held* second;
  int made = 0;
  destroyed = 0;
  CHECK(larder_memory_get(memory, recipe) == NULL);
  first = larder_memory_get_or_make(memory, recipe, make, &made, NULL, &answer, NULL);
  CHECK(first != NULL && answer.outcome == LARDER_OUTCOME_MADE);
  second = larder_memory_get_or_make(memory, recipe, make, &made, NULL, &answer, NULL);
  CHECK(answer.outcome == LARDER_OUTCOME_MEMORY_HIT && answer.reason == LARDER_REASON_NONE);
  CHECK(made == 1);
  CHECK(larder_held_object(first) == &made && larder_held_object(second) == &made);
  CHECK(larder_memory_get_stats(memory).count == 1);
  CHECK(larder_memory_get_stats(memory).bytes >= 100);
  CHECK(larder_memory_get_stats(memory).unreclaimed_bytes == 0);
  larder_held_destroy(first);
  CHECK(larder_memory_erase(memory, recipe));
  CHECK(!larder_memory_erase(memory, recipe));
  CHECK(larder_held_object(second) == &made); /* still held */
  larder_held_destroy(second);
  larder_interned_destroy(recipe);
  larder_memory_destroy(memory);
  CHECK(destroyed == 1);
}

static void frees_recipes_that_come_and_go(void) {
  larder_memory_options options = {.bytes_max = 1 << 20};
  larder_memory* memory = larder_memory_create(&options, NULL);
  char name[32];
  int i;
  for (i = 0; i < 20000; ++i) {
    snprintf(name, sizeof(name), "%d", i);
    larder_interned_destroy(intern(memory, name));
  }
  CHECK(larder_memory_get_stats(memory).interned == 0);
  CHECK(larder_memory_get_stats(memory).unreclaimed == 0);
  CHECK(larder_memory_get_stats(memory).unreclaimed_bytes == 0);
  larder_memory_destroy(memory);
}

static void knows_no_recipe_of_another_memory(void) {
  larder_memory* own = larder_memory_create(NULL, NULL);
  larder_memory* other = larder_memory_create(NULL, NULL);
  larder_interned* recipe = intern(other, "a");
  const larder_interned* asked[1];
  void* found[1];
  larder_error* error = NULL;
  larder_guard* guard;
  int made = 0;
  int warm;
  asked[0] = recipe;
  for (warm = 0; warm < 2; ++warm) {
    CHECK(larder_memory_get_or_make(own, recipe, make, &made, NULL, NULL, &error) == NULL);
    CHECK(larder_error_code(error) == LARDER_INVALID_ARGUMENT);
    larder_error_destroy(error);
    CHECK(larder_memory_get(own, recipe) == NULL);
    guard = larder_guard_create(own, NULL);
    CHECK(larder_guard_get(guard, recipe) == NULL);
    larder_guard_get_many(guard, asked, found, 1);
    CHECK(found[0] == NULL);
    larder_guard_destroy(guard);
    larder_held_destroy(larder_memory_get_or_make(other, recipe, make, &made, NULL, NULL, NULL));
    CHECK(made == 1);
  }
  larder_interned_destroy(recipe);
  larder_memory_destroy(own);
  larder_memory_destroy(other);
}

static void refuses_what_is_no_share_and_no_code(void) {
  larder_memory_options options = {.low_water = -3};
  larder_error* error = NULL;
  CHECK(larder_memory_create(&options, &error) == NULL);
  CHECK(larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);
  error = larder_error_create((larder_code)99, larder_text("odd"));
  CHECK(larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);
}

static void passes_a_makers_error_on(void) {
  larder_memory* memory = larder_memory_create(NULL, NULL);
  larder_interned* recipe = intern(memory, "a");
  larder_error* error = NULL;
  CHECK(larder_memory_get_or_make(memory, recipe, refuse, NULL, NULL, NULL, &error) == NULL);
  CHECK(larder_error_code(error) == LARDER_MAKER_FAILED);
  CHECK(strcmp(larder_error_message(error), "compile: line 3: no such type") == 0);
  larder_error_destroy(error);
  larder_interned_destroy(recipe);
  larder_memory_destroy(memory);
}

static void reads_under_a_guard(void) {
  larder_memory* memory = larder_memory_create(NULL, NULL);
  larder_interned* recipe = intern(memory, "a");
  larder_interned* other = intern(memory, "b");
  const larder_interned* both[2];
  void* objects[2];
  larder_guard* guard;
  int made = 0;
  larder_held_destroy(larder_memory_get_or_make(memory, recipe, make, &made, NULL, NULL, NULL));
  guard = larder_guard_create(memory, NULL);
  CHECK(larder_guard_get(guard, recipe) == &made);
  CHECK(larder_guard_get(guard, other) == NULL);
  both[0] = other;
  both[1] = recipe;
  larder_guard_get_many(guard, both, objects, 2);
  CHECK(objects[0] == NULL && objects[1] == &made);
  larder_guard_destroy(guard);
  larder_interned_destroy(recipe);
  larder_interned_destroy(other);
  larder_memory_destroy(memory);
}

static void keeps_families_pins_and_caps(void) {
  larder_memory_options options;
  larder_memory* memory;
  larder_interned* program;
  larder_interned* kernel;
  larder_make_options with_parent;
  larder_totals* totals;
  larder_error* error = NULL;
  int made = 0;
  memset(&options, 0, sizeof options);
  memset(&with_parent, 0, sizeof with_parent);
  options.count_max = 8;
  options.policy = "lru";
  memory = larder_memory_create(&options, NULL);
  program = intern(memory, "program");
  kernel = intern(memory, "kernel");
  with_parent.parent = program;
  larder_held_destroy(larder_memory_get_or_make(memory, program, make, &made, NULL, NULL, NULL));
  larder_held_destroy(larder_memory_get_or_make(memory, kernel, make, &made, &with_parent, NULL, NULL));
  CHECK(larder_memory_get_stats(memory).count == 2);
  CHECK(larder_memory_erase(memory, program));
  CHECK(larder_memory_get_stats(memory).count == 0); /* the kernel left with its program */

  larder_held_destroy(larder_memory_get_or_make(memory, program, make, &made, NULL, NULL, NULL));
  CHECK(larder_memory_set_pinned(memory, program, true));
  larder_memory_relieve(memory, LARDER_PRESSURE_CRITICAL);
  CHECK(larder_memory_get_stats(memory).count == 1);
  CHECK(larder_memory_set_pinned(memory, program, false));
  larder_memory_relieve(memory, LARDER_PRESSURE_CRITICAL);
  CHECK(larder_memory_get_stats(memory).count == 0);
  larder_held_destroy(larder_memory_get_or_make(memory, program, make, &made, NULL, NULL, NULL));
  larder_memory_clear(memory);
  CHECK(larder_memory_get_stats(memory).count == 0);
  totals = larder_memory_totals(memory, NULL);
  CHECK(larder_totals_outcome(totals, LARDER_OUTCOME_MADE) == 4);
  larder_totals_destroy(totals);
  larder_interned_destroy(program);
  larder_interned_destroy(kernel);
  larder_memory_destroy(memory);

  options.policy = "no such policy";
  CHECK(larder_memory_create(&options, &error) == NULL);
  CHECK(larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);
}

int main(void) {
  makes_once_and_holds();
  frees_recipes_that_come_and_go();
  knows_no_recipe_of_another_memory();
  refuses_what_is_no_share_and_no_code();
  passes_a_makers_error_on();
  reads_under_a_guard();
  keeps_families_pins_and_caps();
  return failures;
}
