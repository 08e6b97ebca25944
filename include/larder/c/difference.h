/* Differences of recipes: which ingredients two recipes do not share, and which of many differs least.
   Conventions: larder/larder.h. */
#ifndef LARDER_C_DIFFERENCE_H
#define LARDER_C_DIFFERENCE_H

#include "larder/c/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum larder_change_kind {
  LARDER_CHANGE_ADDED = 1,
  LARDER_CHANGE_REMOVED = 2,
  LARDER_CHANGE_CHANGED = 3, /* both have one of this name, with different content */
  LARDER_CHANGE_MOVED = 4,   /* both have it, in another order */
  LARDER_CHANGE_WIDEST = 0x7fffffff
} larder_change_kind;

#define LARDER_NO_PLACE ((size_t)-1)

typedef struct larder_change {
  larder_change_kind kind;
  size_t place_before; /* counted from 0; LARDER_NO_PLACE: not there */
  size_t place_after;
  larder_ingredient before; /* zeroed where it is not there */
  larder_ingredient after;
} larder_change;

typedef struct larder_difference larder_difference;

/* Both recipes must outlive it unchanged. */
LARDER_API larder_difference* larder_difference_create(const larder_recipe* before,
                                                       const larder_recipe* after, larder_error** error);
LARDER_API void larder_difference_destroy(larder_difference* difference);
/* True exactly when the recipes are equal. */
LARDER_API bool larder_difference_is_empty(const larder_difference* difference);
LARDER_API size_t larder_difference_change_count(const larder_difference* difference);
/* False: there is no such place. */
LARDER_API bool larder_difference_change(const larder_difference* difference, size_t place,
                                         larder_change* change);
/* For people, at most `size_max` bytes (0: 8192), any hostile bytes escaped. The caller destroys it. */
LARDER_API larder_bytes* larder_difference_text(const larder_difference* difference, size_t size_max,
                                                larder_error** error);
LARDER_API const char* larder_change_name(larder_change_kind kind);

/* Finds, among candidates offered one by one, the recipe that differs least from the wanted one. */
typedef struct larder_nearest larder_nearest;

LARDER_API larder_nearest* larder_nearest_create(const larder_recipe* wanted, larder_error** error);
LARDER_API void larder_nearest_destroy(larder_nearest* nearest);
/* `id` is the caller's name for the candidate. `*is_looked_at` (may be NULL) becomes false once enough was
   read: this candidate was not looked at, nor will be any other. */
LARDER_API bool larder_nearest_offer(larder_nearest* nearest, const larder_recipe* candidate, uint64_t id,
                                     bool* is_looked_at, larder_error** error);
/* The nearest so far, which the caller destroys, and its id. LARDER_NOT_FOUND when nothing was offered. */
LARDER_API larder_recipe* larder_nearest_found(const larder_nearest* nearest, uint64_t* id,
                                               larder_error** error);

#ifdef __cplusplus
}
#endif

#endif
