#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "larder/larder.h"

static char place[64];
static char path[128];

static larder_recipe* program(const char* source) {
  larder_recipe* recipe = larder_recipe_create(larder_text("program"), NULL);
  CHECK(larder_recipe_add(recipe, larder_text("source"), larder_text(source), NULL));
  return recipe;
}

static void saves_and_loads(void) {
  larder_recipe* recipe = program("f()");
  larder_recipe* changed = program("g()");
  larder_error* error = NULL;
  larder_bytes* product = NULL;
  larder_cache_file* file = larder_cache_file_open(larder_text(path), &error);
  CHECK(file != NULL && error == NULL);
  CHECK(access(path, F_OK) != 0);
  CHECK(larder_cache_file_load(file, recipe, &product) == LARDER_REASON_ABSENT && product == NULL);
  CHECK(strstr(larder_cache_file_detail(file), path) != NULL);
  CHECK(larder_cache_file_save(file, recipe, larder_text("binary"), 1000) == LARDER_REASON_NONE);
  CHECK(strcmp(larder_cache_file_detail(file), "") == 0);
  CHECK(larder_cache_file_load(file, recipe, &product) == LARDER_REASON_NONE);
  CHECK_TEXT(larder_bytes_view(product), "binary");
  larder_bytes_destroy(product);
  CHECK(larder_cache_file_load(file, changed, &product) == LARDER_REASON_OTHER_RECIPE && product == NULL);
  CHECK(larder_cache_file_load(file, recipe, &product) == LARDER_REASON_NONE);
  larder_bytes_destroy(product);
  CHECK(larder_cache_file_reject(file));
  CHECK(!larder_cache_file_reject(file));
  CHECK(larder_cache_file_load(file, recipe, &product) == LARDER_REASON_REFUSED);
  CHECK(access(path, F_OK) != 0);
  larder_cache_file_destroy(file);
  larder_cache_file_destroy(NULL);
  larder_recipe_destroy(recipe);
  larder_recipe_destroy(changed);
}

struct driver {
  const char* accepts; /* the only binary that it knows */
  larder_made makes;
  int offered;
  int made;
};

static bool accept(larder_view product, void* context) {
  struct driver* driver = context;
  ++driver->offered;
  return product.size == strlen(driver->accepts) && memcmp(product.data, driver->accepts, product.size) == 0;
}

static larder_made make(larder_bytes** product, void* context) {
  struct driver* driver = context;
  ++driver->made;
  if (driver->makes == LARDER_MADE) *product = larder_bytes_create(larder_text(driver->accepts), NULL);
  return driver->makes;
}

static larder_cache_file_answer ask(larder_cache_file* file, struct driver* driver) {
  larder_recipe* recipe = program("f()");
  larder_cache_file_answer answer;
  larder_error* error = NULL;
  CHECK(larder_cache_file_get_or_make(file, recipe, accept, make, driver, &answer, &error));
  CHECK(error == NULL);
  larder_recipe_destroy(recipe);
  return answer;
}

static void makes_once_until_the_driver_changes(void) {
  larder_cache_file* file = larder_cache_file_open(larder_text(path), NULL);
  struct driver driver = {"for driver 1", LARDER_MADE, 0, 0};
  larder_cache_file_answer answer = ask(file, &driver);
  CHECK(answer.outcome == LARDER_OUTCOME_MADE && answer.not_kept == LARDER_REASON_NONE);
  answer = ask(file, &driver);
  CHECK(answer.outcome == LARDER_OUTCOME_DISK_HIT && answer.reason == LARDER_REASON_NONE);
  CHECK(driver.made == 1 && driver.offered == 1);
  driver.accepts = "for driver 2";
  answer = ask(file, &driver);
  CHECK(answer.outcome == LARDER_OUTCOME_MADE && answer.reason == LARDER_REASON_REFUSED);
  answer = ask(file, &driver);
  CHECK(answer.outcome == LARDER_OUTCOME_DISK_HIT);
  CHECK(driver.made == 2);
  larder_cache_file_destroy(file);
  CHECK(unlink(path) == 0);
}

static void tells_what_cannot_be_kept(void) {
  larder_cache_file* file = larder_cache_file_open(larder_text(path), NULL);
  larder_recipe* recipe = program("f()");
  larder_error* error = NULL;
  char forgotten[160];
  struct driver driver = {"x", LARDER_MADE_NOTHING_TO_STORE, 0, 0};
  larder_cache_file_answer answer = ask(file, &driver);
  CHECK(answer.outcome == LARDER_OUTCOME_MADE && answer.not_kept == LARDER_REASON_NOTHING_TO_STORE);
  CHECK(access(path, F_OK) != 0);
  driver.makes = LARDER_MADE_FAILED;
  CHECK(!larder_cache_file_get_or_make(file, recipe, accept, make, &driver, NULL, &error));
  CHECK(error != NULL && larder_error_code(error) == LARDER_MAKER_FAILED);
  larder_error_destroy(error);
  CHECK(!larder_cache_file_get_or_make(file, recipe, NULL, make, &driver, NULL, &error));
  CHECK(error != NULL && larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);
  larder_cache_file_destroy(file);

  snprintf(forgotten, sizeof forgotten, "%s/forgotten/file", place);
  file = larder_cache_file_open(larder_text(forgotten), NULL);
  driver.makes = LARDER_MADE;
  answer = ask(file, &driver);
  CHECK(answer.reason == LARDER_REASON_UNREADABLE && answer.not_kept == LARDER_REASON_UNWRITABLE);
  CHECK(strstr(larder_cache_file_detail(file), "does not exist; make it") != NULL);
  larder_cache_file_destroy(file);
  larder_recipe_destroy(recipe);
  CHECK(larder_cache_file_open(larder_text(""), NULL) == NULL);
}

static void shows_what_a_file_holds(void) {
  larder_cache_file_info info;
  larder_error* error = NULL;
  larder_recipe* recipe = program("f()");
  larder_cache_file* file = larder_cache_file_open(larder_text(path), NULL);
  FILE* out;
  int i;
  CHECK(!larder_cache_file_inspect(larder_text(path), &info, &error));
  CHECK(error != NULL && larder_error_code(error) == LARDER_NOT_FOUND);
  larder_error_destroy(error);
  CHECK(larder_cache_file_save(file, recipe, larder_text("binary"), 1000) == LARDER_REASON_NONE);
  CHECK(larder_cache_file_inspect(larder_text(path), &info, &error));
  CHECK(info.layout == LARDER_LAYOUT_LARDER && info.reason == LARDER_REASON_NONE);
  CHECK(info.product_bytes == 6 && info.cost_ns == 1000 && info.made_at_unix_ns > 0);
  CHECK(info.key.low == larder_recipe_key(recipe).low);

  out = fopen(path, "wb");
  CHECK(out != NULL);
  fwrite("FUTHARK", 1, 8, out);
  fputc(50, out);
  for (i = 0; i < 7; ++i) fputc(0, out);
  for (i = 0; i < 32; ++i) fputc(i, out);
  fputs("xy", out);
  fclose(out);
  CHECK(larder_cache_file_inspect(larder_text(path), &info, &error));
  CHECK(info.layout == LARDER_LAYOUT_FUTHARK && info.reason == LARDER_REASON_NONE);
  CHECK(info.said_bytes == 50 && info.product_bytes == 2 && info.futhark_key[31] == 31);
  larder_cache_file_destroy(file);
  larder_recipe_destroy(recipe);
  CHECK(unlink(path) == 0);
}

int main(void) {
  strcpy(place, "/tmp/larder-capi-XXXXXX");
  CHECK(mkdtemp(place) != NULL);
  snprintf(path, sizeof path, "%s/app.cache", place);
  saves_and_loads();
  makes_once_until_the_driver_changes();
  tells_what_cannot_be_kept();
  shows_what_a_file_holds();
  CHECK(rmdir(place) == 0);
  return failures != 0;
}
