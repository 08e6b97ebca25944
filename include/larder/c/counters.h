/* Counters: what one cache, one tier or the whole process did. Conventions: larder/larder.h. */
#ifndef LARDER_C_COUNTERS_H
#define LARDER_C_COUNTERS_H

#include "larder/c/events.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is counted besides outcomes and reasons. */
typedef enum larder_counter {
  LARDER_COUNTER_WAITS = 0,           /* requests that waited for another's making */
  LARDER_COUNTER_WAIT_NS = 1,         /* how long they waited */
  LARDER_COUNTER_MAKING_NS = 2,       /* cost that was paid */
  LARDER_COUNTER_RETRIES = 3,         /* makings repeated */
  LARDER_COUNTER_STORED = 4,          /* entries kept */
  LARDER_COUNTER_STORED_BYTES = 5,    /* their weight */
  LARDER_COUNTER_EVICTED = 6,         /* entries that had to leave */
  LARDER_COUNTER_EVICTED_BYTES = 7,   /* their weight */
  LARDER_COUNTER_EVICTED_COST_NS = 8, /* what making them had cost */
  LARDER_COUNTER_WOULD_HAVE_HIT = 9,  /* misses on an entry that had been evicted not long ago */
  LARDER_COUNTER_DAMAGED = 10,        /* entries that failed their check */
  LARDER_COUNTER_WARNINGS = 11,       /* warning events */
  LARDER_COUNTER_WIDEST = 0x7fffffff
} larder_counter;

LARDER_API const char* larder_counter_name(larder_counter counter);

/* A set of counters; for any thread. Counting costs about a nanosecond and a call. */
typedef struct larder_counters larder_counters;

LARDER_API larder_counters* larder_counters_create(larder_error** error);
/* Nobody may count there any more. */
LARDER_API void larder_counters_destroy(larder_counters* counters);
/* Numbers that are none are not counted. */
LARDER_API void larder_counters_count_outcome(larder_counters* counters, larder_outcome outcome,
                                              int64_t saved_ns);
LARDER_API void larder_counters_count_reason(larder_counters* counters, larder_reason reason);
LARDER_API void larder_counters_count(larder_counters* counters, larder_counter counter, uint64_t by);

/* A reading. */
typedef struct larder_totals larder_totals;

LARDER_API larder_totals* larder_counters_totals(const larder_counters* counters, larder_error** error);
/* Over every set of the process, those destroyed included. A forked child begins at zero. */
LARDER_API larder_totals* larder_process_totals(larder_error** error);
LARDER_API void larder_totals_destroy(larder_totals* totals);
/* 0 for numbers that are none. */
LARDER_API uint64_t larder_totals_outcome(const larder_totals* totals, larder_outcome outcome);
LARDER_API uint64_t larder_totals_reason(const larder_totals* totals, larder_reason reason);
LARDER_API uint64_t larder_totals_counter(const larder_totals* totals, larder_counter counter);
/* Cost that was not paid because of this outcome. */
LARDER_API int64_t larder_totals_saved_ns(const larder_totals* totals, larder_outcome outcome);
/* Of every outcome together. */
LARDER_API uint64_t larder_totals_requests(const larder_totals* totals);
LARDER_API uint64_t larder_totals_hits(const larder_totals* totals);
LARDER_API int64_t larder_totals_all_saved_ns(const larder_totals* totals);

#ifdef __cplusplus
}
#endif

#endif
