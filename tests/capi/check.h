/* CHECK for tests in C: says what failed and where, goes on, and lets main return the number of failures. */
#ifndef LARDER_TESTS_CHECK_H
#define LARDER_TESTS_CHECK_H

#include <stdio.h>
#include <string.h>

static int failures = 0;

#define CHECK(expression)                                                            \
  do {                                                                               \
    if (!(expression)) {                                                             \
      fprintf(stderr, "%s:%d: CHECK(%s) failed\n", __FILE__, __LINE__, #expression); \
      ++failures;                                                                    \
    }                                                                                \
  } while (0)

#define CHECK_TEXT(view, text) \
  CHECK((view).size == strlen(text) && memcmp((view).data, (text), strlen(text)) == 0)

#endif
