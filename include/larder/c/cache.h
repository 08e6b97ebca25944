/* A cache: products found in the nearest tier that has them – memory, disk, bundles – and made where none
   has. Conventions: larder/larder.h; what is promised in detail: larder/cache.hpp. */
#ifndef LARDER_C_CACHE_H
#define LARDER_C_CACHE_H

#include "larder/c/counters.h"
#include "larder/c/options.h"
#include "larder/c/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For any thread; a forked child may go on using it. */
typedef struct larder_cache larder_cache;

typedef enum larder_mode {
  LARDER_MODE_AS_OPENED = 0,   /* what the options said */
  LARDER_MODE_NORMAL = 1,      /* find it, else make and keep it */
  LARDER_MODE_BYPASS = 2,      /* make it; look nowhere, keep nothing */
  LARDER_MODE_REFRESH = 3,     /* make it and keep it in the place of what was kept */
  LARDER_MODE_READ_ONLY = 4,   /* find it, else make it; write nothing to the disk */
  LARDER_MODE_REQUIRE_HIT = 5, /* find it; LARDER_NOT_FOUND instead of making it */
  LARDER_MODE_VERIFY = 6,      /* as normal, but a share of the hits is made again and compared */
  LARDER_MODE_WIDEST = 0x7fffffff
} larder_mode;

/* The text of an ingredient that is too large to stand in its recipe, kept for `larder show` and `why`. */
typedef struct larder_named_text {
  larder_view name;
  larder_view text;
} larder_named_text;

typedef struct larder_request {
  larder_mode mode;
  bool load_first;                /* at the next start, preload it before all others */
  bool may_map;                   /* a large product may be a mapping of its file */
  const larder_named_text* texts; /* read during the call only; NULL when text_count is 0 */
  size_t text_count;
} larder_request;

/* Opens with `options` (NULL: none). A tier that cannot be opened is left out: see larder_cache_problems.
   Fails only for want of memory. */
LARDER_API larder_cache* larder_cache_open(const larder_options* options, larder_error** error);
/* Writes what waits for as long as the options say, and closes. */
LARDER_API void larder_cache_destroy(larder_cache* cache);

/* What a maker hands over: `bytes` is then larder's; `log` is copied. */
typedef struct larder_made_product {
  larder_bytes* bytes;
  larder_view log;
  bool discard; /* hand it out and keep it nowhere */
} larder_made_product;
/* True: `*made` is filled in; no bytes at all are LARDER_MAKER_FAILED, an empty product is bytes of size 0.
 * False: `*why` may be given an error (larder_error_create), which larder destroys. */
typedef bool (*larder_cache_make)(larder_made_product* made, larder_error** why, void* context);

typedef struct larder_product {
  larder_bytes* bytes; /* the caller destroys it */
  larder_outcome outcome;
  larder_reason reason; /* why it was no hit */
  int64_t cost_ns;      /* what making took, whenever that was */
} larder_product;

/* `how` may be NULL. False: `*product` is zeroed, and the error is the maker's, or LARDER_NOT_FOUND. */
LARDER_API bool larder_cache_get_or_make(larder_cache* cache, const larder_recipe* recipe,
                                         larder_cache_make make, void* context, const larder_request* how,
                                         larder_product* product, larder_error** error);
/* False, and no error, when no tier has it. */
LARDER_API bool larder_cache_get(larder_cache* cache, const larder_recipe* recipe, const larder_request* how,
                                 larder_product* product, larder_error** error);
/* Keeps a copy of a product made elsewhere; `cost_ns` is what making it took. True: it is kept. */
LARDER_API bool larder_cache_put(larder_cache* cache, const larder_recipe* recipe, larder_view product,
                                 int64_t cost_ns, larder_error** error);
/* A driver, say, did not accept it: it is removed everywhere, and passed over in bundles. True when it was
   kept. */
LARDER_API bool larder_cache_reject(larder_cache* cache, const larder_recipe* recipe);
LARDER_API bool larder_cache_erase(larder_cache* cache, const larder_recipe* recipe);

/* Which entries are meant; what is zero says nothing. */
typedef struct larder_selector {
  larder_view kind;      /* recipes of this kind */
  larder_view program;   /* asked for by this program at its last start */
  larder_view path;      /* recipes with an ingredient that is this path, or one of a file below it */
  int64_t older_than_ns; /* last used longer ago; negative: nothing is meant */
} larder_selector;

typedef struct larder_cleared {
  uint64_t entries; /* removed from disk */
  uint64_t bytes;
  uint64_t bundle_entries; /* in mounted bundles, selected or not: these stay */
} larder_cleared;

/* Removes what `selector` (NULL: everything) means from every tier and from what waits to be written; nothing
   made before the call comes back after it. A selector that has a text of some size at NULL means nothing:
   nothing is removed. */
LARDER_API larder_cleared larder_cache_clear(larder_cache* cache, const larder_selector* selector);

/* Whether a recipe can be used on this machine. */
typedef bool (*larder_cache_fits)(const larder_recipe* recipe, void* context);
/* Begins to load what this program's previous run used first; `fits` may be NULL: all fit. `fits` is called
   on larder's thread until preloading ends. False: nothing to load. */
LARDER_API bool larder_cache_preload(larder_cache* cache, larder_cache_fits fits, void* context);
LARDER_API bool larder_cache_wait_for_preload(const larder_cache* cache, int64_t deadline_ns);

/* False when `deadline_ns` passed before all that waited was written. */
LARDER_API bool larder_cache_flush(larder_cache* cache, int64_t deadline_ns);
LARDER_API void larder_cache_close(larder_cache* cache, int64_t deadline_ns);

typedef struct larder_cache_stats {
  uint64_t memory_entries;
  uint64_t memory_bytes;
  uint64_t pending_entries; /* made, not yet written */
  uint64_t pending_bytes;
  uint64_t preloaded_entries;
  uint64_t preloaded_bytes;
  uint64_t preload_unfit;
  bool has_disk;
  uint64_t bundles; /* mounted */
  uint64_t bundle_entries;
} larder_cache_stats;
LARDER_API larder_cache_stats larder_cache_get_stats(const larder_cache* cache);
LARDER_API larder_totals* larder_cache_totals(const larder_cache* cache, larder_error** error);
/* What could not be used and what to do about it, a line each; no bytes when all is well. */
LARDER_API larder_bytes* larder_cache_problems(const larder_cache* cache, larder_error** error);

#ifdef __cplusplus
}
#endif

#endif
