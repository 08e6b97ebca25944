#include <pthread.h>

#include "check.h"
#include "larder/larder.h"

static void* count_some(void* counters) {
  int i;
  for (i = 0; i < 1000; ++i) larder_counters_count_outcome(counters, LARDER_OUTCOME_MEMORY_HIT, 2);
  return NULL;
}

static void counts_from_any_thread(void) {
  larder_counters* counters = larder_counters_create(NULL);
  larder_totals* totals;
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, count_some, counters) == 0);
  count_some(counters);
  CHECK(pthread_join(thread, NULL) == 0);
  larder_counters_count_reason(counters, LARDER_REASON_ABSENT);
  larder_counters_count(counters, LARDER_COUNTER_EVICTED_BYTES, 4096);
  totals = larder_counters_totals(counters, NULL);
  CHECK(larder_totals_outcome(totals, LARDER_OUTCOME_MEMORY_HIT) == 2000);
  CHECK(larder_totals_saved_ns(totals, LARDER_OUTCOME_MEMORY_HIT) == 4000);
  CHECK(larder_totals_reason(totals, LARDER_REASON_ABSENT) == 1);
  CHECK(larder_totals_counter(totals, LARDER_COUNTER_EVICTED_BYTES) == 4096);
  CHECK(larder_totals_requests(totals) == 2000 && larder_totals_hits(totals) == 2000);
  CHECK(larder_totals_all_saved_ns(totals) == 4000);
  larder_totals_destroy(totals);
  larder_counters_destroy(counters);
  totals = larder_process_totals(NULL);
  CHECK(larder_totals_outcome(totals, LARDER_OUTCOME_MEMORY_HIT) >= 2000);
  larder_totals_destroy(totals);
}

static void stands_numbers_that_are_none(void) {
  larder_counters* counters = larder_counters_create(NULL);
  larder_totals* totals;
  int number;
  for (number = -3; number < 1000; ++number) {
    if (number < 1 || number > 9) larder_counters_count_outcome(counters, (larder_outcome)number, 1);
    if (number < 0 || number > 28) larder_counters_count_reason(counters, (larder_reason)number);
    if (number < 0 || number > 11) larder_counters_count(counters, (larder_counter)number, 1);
  }
  totals = larder_counters_totals(counters, NULL);
  for (number = -3; number < 1000; ++number) {
    CHECK(larder_totals_outcome(totals, (larder_outcome)number) == 0);
    CHECK(larder_totals_reason(totals, (larder_reason)number) == 0);
    CHECK(larder_totals_counter(totals, (larder_counter)number) == 0);
  }
  CHECK(strcmp(larder_counter_name(LARDER_COUNTER_WAITS), "waits") == 0);
  CHECK(strcmp(larder_counter_name((larder_counter)12), "unknown") == 0);
  larder_totals_destroy(totals);
  larder_counters_destroy(counters);
  larder_counters_destroy(NULL);
  larder_totals_destroy(NULL);
}

int main(void) {
  counts_from_any_thread();
  stands_numbers_that_are_none();
  return failures != 0;
}
