/* A cache file: one product of one program in one file, for programs that may touch nothing but the file they
   were told to. Never required, never harmful: whatever is wrong with the file, the program makes its product
   and goes on. A complete program stands in examples/one_file_cache.c. Conventions: larder/larder.h. */
#ifndef LARDER_C_CACHE_FILE_H
#define LARDER_C_CACHE_FILE_H

#include "larder/c/events.h"
#include "larder/c/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Any thread may use one at any time, but for larder_cache_file_detail. */
typedef struct larder_cache_file larder_cache_file;

/* Remembers the path; touches no file. The caller destroys it. LARDER_INVALID_ARGUMENT for a path that names
   no file. */
LARDER_API larder_cache_file* larder_cache_file_open(larder_view path, larder_error** error);
LARDER_API void larder_cache_file_destroy(larder_cache_file* file);

/* The product of exactly this recipe, which the caller destroys, and LARDER_REASON_NONE; or NULL there and
   why there is none: absent, other recipe, other version, truncated, corrupt, untrusted, unreadable (also:
   the directory does not exist), disabled and so on. Changes nothing on disk. */
LARDER_API larder_reason larder_cache_file_load(larder_cache_file* file, const larder_recipe* recipe,
                                                larder_bytes** product);

/* Puts the product in the place of the cache file, in one step. LARDER_REASON_NONE, or why it is not kept: a
   file that is no cache file is left alone (untrusted). `cost_ns` is what making it took; 0 when nobody
   measured. */
LARDER_API larder_reason larder_cache_file_save(larder_cache_file* file, const larder_recipe* recipe,
                                                larder_view product, int64_t cost_ns);

/* Removes what the last load read, because its user (a driver, say) does not accept it. True when it is gone.
 */
LARDER_API bool larder_cache_file_reject(larder_cache_file* file);

/* For people: the path and what was wrong in the last call on this thread's object that did not succeed; ""
   when nothing was. Good until the next call. */
LARDER_API const char* larder_cache_file_detail(const larder_cache_file* file);

/* True: the product was taken into use. False: it is not accepted, and is removed. */
typedef bool (*larder_cache_file_accept)(larder_view product, void* context);

typedef enum larder_made {
  LARDER_MADE_FAILED = 0,          /* the maker said no */
  LARDER_MADE = 1,                 /* `*product` is to be kept; larder destroys it */
  LARDER_MADE_NOTHING_TO_STORE = 2 /* done, and there is nothing to keep: no file is made */
} larder_made;
typedef larder_made (*larder_cache_file_make)(larder_bytes** product, void* context);

typedef struct larder_cache_file_answer {
  larder_outcome outcome; /* disk hit, made, or bypassed */
  larder_reason reason;   /* why it was no hit: as larder_cache_file_load, or refused */
  larder_reason
      not_kept;    /* why what was made is not in the file: as larder_cache_file_save, or nothing to store */
  int64_t cost_ns; /* what making took, or had taken */
} larder_cache_file_answer;

/* Loads; offers what was loaded to `accept`; when there is nothing to use, calls `make` and keeps what it
   made, which is not offered to `accept`. False with LARDER_MAKER_FAILED when the maker says no. `answer` may
   be NULL. */
LARDER_API bool larder_cache_file_get_or_make(larder_cache_file* file, const larder_recipe* recipe,
                                              larder_cache_file_accept accept, larder_cache_file_make make,
                                              void* context, larder_cache_file_answer* answer,
                                              larder_error** error);

typedef enum larder_cache_file_layout {
  LARDER_LAYOUT_LARDER = 1,
  LARDER_LAYOUT_FUTHARK = 2 /* the cache file of a Futhark program */
} larder_cache_file_layout;

typedef struct larder_cache_file_info {
  larder_cache_file_layout layout;
  larder_reason reason; /* none: sound; else truncated, corrupt or other version */
  uint64_t file_bytes;
  uint64_t said_bytes; /* futhark: the size that the file says it has */
  uint64_t product_bytes;
  larder_key key;          /* larder */
  uint8_t futhark_key[32]; /* futhark */
  int64_t cost_ns;
  int64_t made_at_unix_ns;
} larder_cache_file_info;

/* What the file at `path` holds, of any recipe. LARDER_UNSUPPORTED when it is no cache file. */
LARDER_API bool larder_cache_file_inspect(larder_view path, larder_cache_file_info* info,
                                          larder_error** error);

#ifdef __cplusplus
}
#endif

#endif
