#include <string.h>

#include "check.h"
#include "larder/larder.h"

typedef struct pair {
  int n;
  int first;
} pair;

static larder_view view_of(const pair* arguments) {
  larder_view view;
  view.data = arguments;
  view.size = sizeof *arguments;
  return view;
}

/* Fibonacci through the memo; `context` counts the calls. */
static bool fibonacci(larder_memo* memo, larder_view arguments, void* result, larder_error** why,
                      void* context) {
  pair asked;
  long long a;
  long long b;
  pair below;
  ++*(int*)context;
  CHECK(arguments.size == sizeof asked);
  memcpy(&asked, arguments.data, sizeof asked);
  if (asked.n < 2) {
    a = asked.n + asked.first;
    memcpy(result, &a, sizeof a);
    return true;
  }
  below = asked;
  below.n = asked.n - 1;
  if (!larder_memo_call(memo, view_of(&below), &a, why)) return false;
  below.n = asked.n - 2;
  if (!larder_memo_call(memo, view_of(&below), &b, why)) return false;
  a += b;
  memcpy(result, &a, sizeof a);
  return true;
}

static bool refuse(larder_memo* memo, larder_view arguments, void* result, larder_error** why,
                   void* context) {
  (void)memo;
  (void)arguments;
  (void)result;
  ++*(int*)context;
  *why = larder_error_create(LARDER_MAKER_FAILED, larder_text("area: no such shape"));
  return false;
}

static bool refuse_silently(larder_memo* memo, larder_view arguments, void* result, larder_error** why,
                            void* context) {
  (void)memo;
  (void)arguments;
  (void)result;
  (void)why;
  ++*(int*)context;
  return false;
}

static void computes_each_result_once(const larder_memo_options* options) {
  int calls = 0;
  larder_error* error;
  larder_memo* memo = larder_memo_create(fibonacci, &calls, sizeof(long long), options, &error);
  pair asked = {80, 0};
  long long result = 0;
  CHECK(memo != NULL && error == NULL);
  CHECK(larder_memo_call(memo, view_of(&asked), &result, &error) && error == NULL);
  CHECK(result == 23416728348467685LL);
  CHECK(calls == 81);
  result = 0;
  CHECK(larder_memo_call(memo, view_of(&asked), &result, NULL));
  CHECK(result == 23416728348467685LL && calls == 81);
  CHECK(larder_memo_get_stats(memo).misses == 81);
  CHECK(larder_memo_get_stats(memo).hits >= 79);
  CHECK(larder_memo_get_stats(memo).entries == 81);
  larder_memo_clear(memo);
  CHECK(larder_memo_call(memo, view_of(&asked), &result, NULL));
  CHECK(calls == 162);
  larder_memo_destroy(memo);
}

static void hands_on_what_the_function_says_and_keeps_nothing(void) {
  int calls = 0;
  larder_error* error;
  larder_memo* memo = larder_memo_create(refuse, &calls, 4, NULL, NULL);
  int result = 7;
  CHECK(!larder_memo_call(memo, larder_text("circle"), &result, &error));
  CHECK(error != NULL && larder_error_code(error) == LARDER_MAKER_FAILED);
  CHECK(strcmp(larder_error_message(error), "area: no such shape") == 0);
  larder_error_destroy(error);
  CHECK(!larder_memo_call(memo, larder_text("circle"), &result, NULL));
  CHECK(calls == 2 && result == 7);
  larder_memo_destroy(memo);
  memo = larder_memo_create(refuse_silently, &calls, 4, NULL, NULL);
  CHECK(!larder_memo_call(memo, larder_text(""), &result, &error));
  CHECK(error != NULL && larder_error_code(error) == LARDER_MAKER_FAILED);
  larder_error_destroy(error);
  larder_memo_destroy(memo);
}

int main(void) {
  larder_memo_options shared = {0};
  shared.is_shared = true;
  computes_each_result_once(NULL);
  computes_each_result_once(&shared);
  hands_on_what_the_function_says_and_keeps_nothing();
  larder_memo_destroy(NULL);
  return failures;
}
