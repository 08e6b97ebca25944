#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "larder/larder.h"

/* The bundle of the golden files: two entries of the kind "sample". */
static larder_recipe* sample(const char* number) {
  larder_recipe* recipe = larder_recipe_create(larder_text("sample"), NULL);
  CHECK(larder_recipe_add(recipe, larder_text("number"), larder_text(number), NULL));
  return recipe;
}

static void opens_lists_and_checks(void) {
  larder_error* error = NULL;
  larder_bundle* bundle = larder_bundle_open(larder_text(TESTDATA "/bundle-1.bin"), NULL, 0, false, &error);
  larder_recipe* recipe = sample("2");
  larder_bytes* product = NULL;
  larder_key damaged[4];
  size_t count = 4;
  CHECK(bundle != NULL && error == NULL);
  CHECK(larder_bundle_entries(bundle) == 2);
  CHECK(larder_bundle_file_bytes(bundle) == 768);
  CHECK(larder_bundle_trusted(bundle) == LARDER_BUNDLE_UNSIGNED);
  CHECK(larder_bundle_verify(bundle, damaged, &count) && count == 0);
  /* The golden entries stand under made-up keys, so that their recipes are not found under their own. */
  CHECK(larder_bundle_get(bundle, recipe, &product) == LARDER_REASON_ABSENT && product == NULL);
  larder_recipe_destroy(recipe);
  larder_bundle_destroy(bundle);
  larder_bundle_destroy(NULL);
}

static void refuses_what_is_required_and_missing(void) {
  larder_error* error = NULL;
  CHECK(larder_bundle_open(larder_text(TESTDATA "/bundle-1.bin"), NULL, 0, true, &error) == NULL);
  CHECK(error != NULL && larder_error_code(error) == LARDER_REFUSED);
  larder_error_destroy(error);
  CHECK(larder_bundle_open(larder_text(TESTDATA "/entry-1.bin"), NULL, 0, false, &error) == NULL);
  CHECK(error != NULL && larder_error_code(error) == LARDER_UNSUPPORTED);
  larder_error_destroy(error);
  CHECK(larder_bundle_open(larder_text("/nowhere"), NULL, 0, false, NULL) == NULL);
}

static void says_whether_it_is_of_use_here(void) {
  larder_machine_fact fact;
  larder_bundle_report report;
  larder_bytes* why;
  fact.name = larder_text("number");
  fact.value = larder_text("3");
  why =
      larder_bundle_preflight(larder_text(TESTDATA "/bundle-1.bin"), NULL, 0, false, &fact, 1, &report, NULL);
  CHECK(report.is_usable && report.entries == 2 && report.fitting == 1 && report.damaged == 0);
  CHECK_TEXT(larder_bytes_view(why), "1 entry has number `2`, and here it is `3`\n");
  larder_bytes_destroy(why);
  why = larder_bundle_preflight(larder_text("/nowhere"), NULL, 0, false, NULL, 0, &report, NULL);
  CHECK(!report.is_usable && larder_bytes_view(why).size > 0);
  larder_bytes_destroy(why);
}

static void makes_keys_once(void) {
  char place[] = "/tmp/larder-capi-XXXXXX";
  char path[64];
  char public_path[80];
  larder_error* error = NULL;
  CHECK(mkdtemp(place) != NULL);
  snprintf(path, sizeof path, "%s/key", place);
  snprintf(public_path, sizeof public_path, "%s.pub", path);
  CHECK(larder_bundle_make_keys(larder_text(path), &error) && error == NULL);
  CHECK(!larder_bundle_make_keys(larder_text(path), &error));
  CHECK(error != NULL && larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);
  CHECK(unlink(path) == 0 && unlink(public_path) == 0 && rmdir(place) == 0);
  CHECK(strcmp(larder_bundle_trust_name(LARDER_BUNDLE_TRUSTED), "trusted") == 0);
  CHECK(strcmp(larder_bundle_trust_name((larder_bundle_trust)77), "unknown") == 0);
}

int main(void) {
  opens_lists_and_checks();
  refuses_what_is_required_and_missing();
  says_whether_it_is_of_use_here();
  makes_keys_once();
  return failures != 0;
}
