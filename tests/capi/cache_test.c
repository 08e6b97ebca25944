#define _DEFAULT_SOURCE /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "larder/larder.h"

static const int64_t kSecond = 1000000000;

static bool make(larder_made_product* made, larder_error** why, void* context) {
  (void)why;
  ++*(int*)context;
  made->bytes = larder_bytes_create(larder_text("product"), NULL);
  made->log = larder_text("a warning");
  return true;
}

static bool make_nothing(larder_made_product* made, larder_error** why, void* context) {
  (void)made;
  (void)why;
  (void)context;
  return true;
}

static bool make_empty(larder_made_product* made, larder_error** why, void* context) {
  (void)why;
  (void)context;
  made->bytes = larder_bytes_create(larder_text(NULL), NULL);
  return true;
}

static bool refuse(larder_made_product* made, larder_error** why, void* context) {
  (void)made;
  (void)context;
  *why = larder_error_create(LARDER_MAKER_FAILED, larder_text("no such type"));
  return false;
}

static bool fits_all(const larder_recipe* recipe, void* context) {
  CHECK(larder_recipe_kind(recipe).size != 0);
  ++*(int*)context;
  return true;
}

static void set(larder_options* options, const char* name, const char* text) {
  CHECK(larder_options_set(options, larder_text(name), larder_text(text), NULL));
}

static void finds_what_was_made(const char* directory) {
  char path[512];
  larder_options* options = larder_options_create(NULL);
  larder_recipe* recipe = larder_recipe_create(larder_text("program"), NULL);
  larder_cache* cache;
  larder_product product;
  larder_request how;
  larder_selector selector;
  larder_named_text text;
  larder_error* error = NULL;
  larder_bytes* problems;
  larder_totals* totals;
  larder_view nothing;
  int made = 0;
  int asked = 0;
  snprintf(path, sizeof path, "%s/store", directory);
  set(options, "dir", path);
  snprintf(path, sizeof path, "%s/run", directory);
  set(options, "runtime-dir", path);
  set(options, "program", "capi_cache_test");

  cache = larder_cache_open(options, NULL);
  CHECK(cache != NULL);
  problems = larder_cache_problems(cache, NULL);
  CHECK(larder_bytes_view(problems).size == 0);
  larder_bytes_destroy(problems);
  CHECK(!larder_cache_get(cache, recipe, NULL, &product, &error) && error == NULL);
  memset(&how, 0, sizeof how);
  text.name = larder_text("source");
  text.text = larder_text("not an ingredient: left out");
  how.texts = &text;
  how.text_count = 1;
  CHECK(larder_cache_get_or_make(cache, recipe, make, &made, &how, &product, NULL));
  CHECK(product.outcome == LARDER_OUTCOME_MADE && product.reason == LARDER_REASON_ABSENT);
  CHECK_TEXT(larder_bytes_view(product.bytes), "product");
  larder_bytes_destroy(product.bytes);
  CHECK(larder_cache_flush(cache, 20 * kSecond));
  CHECK(larder_cache_get_stats(cache).has_disk);
  larder_cache_destroy(cache);

  cache = larder_cache_open(options, NULL);
  CHECK(larder_cache_preload(cache, fits_all, &asked));
  CHECK(larder_cache_wait_for_preload(cache, 20 * kSecond));
  CHECK(asked == 1 && larder_cache_get_stats(cache).preloaded_entries == 1);
  CHECK(larder_cache_get_or_make(cache, recipe, make, &made, NULL, &product, NULL));
  CHECK(product.outcome == LARDER_OUTCOME_MEMORY_HIT && made == 1);
  larder_bytes_destroy(product.bytes);

  memset(&how, 0, sizeof how);
  how.mode = LARDER_MODE_BYPASS;
  CHECK(larder_cache_get_or_make(cache, recipe, make, &made, &how, &product, NULL));
  CHECK(product.outcome == LARDER_OUTCOME_BYPASSED && made == 2);
  larder_bytes_destroy(product.bytes);

  CHECK(larder_cache_reject(cache, recipe));
  CHECK(!larder_cache_erase(cache, recipe));
  CHECK(!larder_cache_get_or_make(cache, recipe, refuse, NULL, NULL, &product, &error));
  CHECK(product.bytes == NULL && larder_error_code(error) == LARDER_MAKER_FAILED);
  larder_error_destroy(error);
  CHECK(larder_cache_put(cache, recipe, larder_text("made elsewhere"), kSecond, NULL));
  CHECK(larder_cache_get(cache, recipe, NULL, &product, NULL));
  CHECK_TEXT(larder_bytes_view(product.bytes), "made elsewhere");
  larder_bytes_destroy(product.bytes);
  CHECK(larder_cache_flush(cache, 20 * kSecond));
  memset(&selector, 0, sizeof selector);
  selector.older_than_ns = -kSecond;
  CHECK(larder_cache_clear(cache, &selector).entries == 0); /* no moment is so long ago */
  memset(&selector, 0, sizeof selector);
  selector.kind = larder_text("other kind");
  CHECK(larder_cache_clear(cache, &selector).entries == 0);
  selector = (larder_selector){.kind = {NULL, 10}};
  CHECK(larder_cache_clear(cache, &selector).entries == 0);
  selector = (larder_selector){.path = {NULL, 1}};
  CHECK(larder_cache_clear(cache, &selector).entries == 0);
  CHECK(larder_cache_clear(cache, NULL).entries == 1);
  CHECK(!larder_cache_get(cache, recipe, NULL, &product, NULL));
  totals = larder_cache_totals(cache, NULL);
  CHECK(larder_totals_outcome(totals, LARDER_OUTCOME_MEMORY_HIT) == 2);
  larder_totals_destroy(totals);
  nothing.data = NULL;
  nothing.size = 5;
  CHECK(!larder_cache_put(cache, recipe, nothing, 0, &error));
  CHECK(larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);
  CHECK(!larder_recipe_add(recipe, larder_text("x"), nothing, NULL));
  CHECK(larder_bytes_create(nothing, NULL) == NULL);
  CHECK(!larder_cache_get_or_make(cache, recipe, make_nothing, NULL, NULL, &product, &error));
  CHECK(product.bytes == NULL && larder_error_code(error) == LARDER_MAKER_FAILED);
  larder_error_destroy(error);
  error = NULL;
  CHECK(larder_cache_get_or_make(cache, recipe, make_empty, NULL, NULL, &product, &error));
  CHECK(product.bytes != NULL && larder_bytes_view(product.bytes).size == 0);
  larder_bytes_destroy(product.bytes);
  larder_cache_close(cache, kSecond);
  CHECK(larder_cache_get_or_make(cache, recipe, make, &made, NULL, &product, NULL));
  CHECK(product.outcome == LARDER_OUTCOME_BYPASSED);
  larder_bytes_destroy(product.bytes);
  larder_cache_destroy(cache);
  larder_recipe_destroy(recipe);
  larder_options_destroy(options);
}

static void finds_what_a_bundle_has(void) {
  larder_options* options = larder_options_create(NULL);
  larder_recipe* recipe = larder_recipe_create(larder_text("program"), NULL);
  larder_cache* cache;
  larder_product product;
  larder_bytes* problems;
  int made = 0;
  CHECK(larder_recipe_add(recipe, larder_text("name"), larder_text("from a bundle"), NULL));
  set(options, "bundles", "/nowhere.bundle:" TESTDATA "/hit-1.bundle");
  cache = larder_cache_open(options, NULL);
  problems = larder_cache_problems(cache, NULL);
  CHECK(larder_bytes_view(problems).size != 0); /* of the one that is missing */
  larder_bytes_destroy(problems);
  CHECK(larder_cache_get_stats(cache).bundles == 1);
  CHECK(larder_cache_get_stats(cache).bundle_entries == 1);
  CHECK(larder_cache_get_or_make(cache, recipe, make, &made, NULL, &product, NULL));
  CHECK(product.outcome == LARDER_OUTCOME_BUNDLE_HIT && product.cost_ns == 2 * kSecond && made == 0);
  CHECK_TEXT(larder_bytes_view(product.bytes), "product of a bundle");
  larder_bytes_destroy(product.bytes);
  CHECK(larder_cache_reject(cache, recipe));
  CHECK(larder_cache_get_or_make(cache, recipe, make, &made, NULL, &product, NULL));
  CHECK(product.outcome == LARDER_OUTCOME_MADE && product.reason == LARDER_REASON_REFUSED && made == 1);
  larder_bytes_destroy(product.bytes);
  larder_cache_destroy(cache);
  larder_recipe_destroy(recipe);
  larder_options_destroy(options);
}

int main(void) {
  char directory[] = "/tmp/larder-capi-XXXXXX";
  char command[64];
  CHECK(mkdtemp(directory) != NULL);
  finds_what_was_made(directory);
  finds_what_a_bundle_has();
  snprintf(command, sizeof command, "rm -rf %s", directory);
  CHECK(system(command) == 0);
  return failures;
}
