/* A memo: a function with a memory, which computes each result once and then finds it again. Conventions:
   larder/larder.h; what is promised in detail: larder/memoize.hpp. Arguments are bytes, compared as such; all
   results of a memo have one size. By default each thread has a table of its own and a hit costs some tens of
   nanoseconds (bench/reuse). */
#ifndef LARDER_C_MEMO_H
#define LARDER_C_MEMO_H

#include "larder/c/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For any thread. */
typedef struct larder_memo larder_memo;

/* True: the result's bytes are at `result`. False: `*why` may be given an error (larder_error_create), which
   larder hands on to the caller, and nothing is kept. May call larder_memo_call on `memo`. Several threads
   may be in it at once; what it gives must depend on nothing but the arguments. */
typedef bool (*larder_memo_function)(larder_memo* memo, larder_view arguments, void* result,
                                     larder_error** why, void* context);

typedef struct larder_memo_options {
  uint64_t entries_max; /* results kept, per thread; of a shared memo, in all. 0: the default, 65536 */
  bool is_shared;       /* one table for all threads, each result computed once */
  larder_cache* cache;  /* where results outlive the process; must outlive the memo. NULL: they do not */
  const char* name;     /* with a cache: the function's */
  const char* version;  /* with a cache: change it whenever results change. NULL: "" */
} larder_memo_options;

/* `options` may be NULL. LARDER_INVALID_ARGUMENT for a cache without a name. */
LARDER_API larder_memo* larder_memo_create(larder_memo_function function, void* context, size_t result_size,
                                           const larder_memo_options* options, larder_error** error);
/* Nobody may be calling it. */
LARDER_API void larder_memo_destroy(larder_memo* memo);

/* Copies the result for `arguments` to `result`. False, and the function's error, when it had to be called
   and failed. */
LARDER_API bool larder_memo_call(larder_memo* memo, larder_view arguments, void* result,
                                 larder_error** error);

/* Forgets every result in memory; what a cache keeps stays. */
LARDER_API void larder_memo_clear(larder_memo* memo);

typedef struct larder_memo_stats {
  uint64_t hits;   /* of threads that live */
  uint64_t misses; /* the function was called, or the cache asked */
  uint64_t entries;
  uint64_t threads; /* that have a table */
} larder_memo_stats;
LARDER_API larder_memo_stats larder_memo_get_stats(const larder_memo* memo);

#ifdef __cplusplus
}
#endif

#endif
