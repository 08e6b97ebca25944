#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "check.h"
#include "larder/larder.h"

static void sets_by_name_and_text(void) {
  larder_options* options = larder_options_create(NULL);
  larder_error* error = NULL;
  larder_bytes* text;
  CHECK(options != NULL);
  CHECK(larder_options_get(options, larder_text("size-max"), &error) == NULL);
  CHECK(error != NULL && larder_error_code(error) == LARDER_NOT_FOUND);
  larder_error_destroy(error);
  CHECK(larder_options_set(options, larder_text("size-max"), larder_text("10G"), &error) && error == NULL);
  text = larder_options_get(options, larder_text("size-max"), &error);
  CHECK_TEXT(larder_bytes_view(text), "10GiB");
  larder_bytes_destroy(text);
  larder_options_destroy(options);
  larder_options_destroy(NULL);
}

static void says_what_was_meant(void) {
  larder_options* options = larder_options_create(NULL);
  larder_error* error = NULL;
  CHECK(!larder_options_set(options, larder_text("size-mux"), larder_text("10G"), &error));
  CHECK(error != NULL && larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  CHECK(strstr(larder_error_message(error), "did you mean `size-max`?") != NULL);
  larder_error_destroy(error);
  CHECK(!larder_options_set(options, larder_text("size-max"), larder_text("ten"), &error));
  CHECK(strstr(larder_error_message(error), "such as 10G") != NULL);
  larder_error_destroy(error);
  CHECK(larder_options_get(options, larder_text("sise-max"), NULL) == NULL);
  larder_options_destroy(options);
}

static void fills_in_environment_and_defaults(void) {
  larder_options* options = larder_options_create(NULL);
  larder_bytes* text;
  setenv("LARDER_AGE_MAX", "3d", 1);
  text = larder_options_resolve(options, larder_text("age-max"), NULL);
  CHECK_TEXT(larder_bytes_view(text), "3d");
  larder_bytes_destroy(text);
  CHECK(larder_options_set(options, larder_text("age-max"), larder_text("2d"), NULL));
  text = larder_options_resolve(options, larder_text("age-max"), NULL);
  CHECK_TEXT(larder_bytes_view(text), "2d");
  larder_bytes_destroy(text);
  unsetenv("LARDER_AGE_MAX");
  larder_options_destroy(options);
}

int main(void) {
  setenv("LARDER_CONFIG", "", 1);
  sets_by_name_and_text();
  says_what_was_meant();
  fills_in_environment_and_defaults();
  return failures != 0;
}
