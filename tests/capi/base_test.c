#include <stdint.h>

#include "check.h"
#include "larder/larder.h"

static void says_its_version(void) {
  CHECK(larder_version_number() ==
        10000u * LARDER_VERSION_MAJOR + 100u * LARDER_VERSION_MINOR + LARDER_VERSION_PATCH);
  CHECK(strcmp(larder_version_text(), PROJECT_VERSION) == 0);
}

static void makes_views_of_strings(void) {
  CHECK(larder_text("abc").size == 3);
  CHECK(larder_text("").size == 0);
  CHECK(larder_text(NULL).size == 0);
}

static void keeps_a_copy_of_bytes(void) {
  char text[] = "kept";
  larder_error* error = NULL;
  larder_bytes* bytes = larder_bytes_create(larder_text(text), &error);
  CHECK(bytes != NULL && error == NULL);
  text[0] = 'x';
  CHECK_TEXT(larder_bytes_view(bytes), "kept");
  larder_bytes_destroy(bytes);
  bytes = larder_bytes_create(larder_text(NULL), NULL);
  CHECK(bytes != NULL && larder_bytes_view(bytes).size == 0);
  larder_bytes_destroy(bytes);
  larder_bytes_destroy(NULL);
}

static void gives_an_error_instead_of_an_exception(void) {
  larder_view endless;
  endless.data = "x";
  endless.size = SIZE_MAX / 2;
  larder_error* error = NULL;
  CHECK(larder_bytes_create(endless, &error) == NULL);
  CHECK(error != NULL);
  CHECK(larder_error_code(error) == LARDER_OUT_OF_RESOURCES ||
        larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  CHECK(strlen(larder_error_message(error)) > 0);
  larder_error_destroy(error);
  larder_error_destroy(NULL);
  CHECK(larder_bytes_create(endless, NULL) == NULL);
}

static void names_codes(void) {
  CHECK(strcmp(larder_code_name(LARDER_DAMAGED), "damaged") == 0);
  CHECK(strcmp(larder_code_name((larder_code)12345), "unknown") == 0);
}

int main(void) {
  says_its_version();
  makes_views_of_strings();
  keeps_a_copy_of_bytes();
  gives_an_error_instead_of_an_exception();
  names_codes();
  return failures != 0;
}
