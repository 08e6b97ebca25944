/* Recipes: the kind of a product and its ordered ingredients, which are its whole identity.
   Conventions: larder/larder.h. */
#ifndef LARDER_C_RECIPE_H
#define LARDER_C_RECIPE_H

#include "larder/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct larder_recipe larder_recipe;

/* XXH3-128 of a recipe's canonical bytes. It addresses; it does not prove. */
typedef struct larder_key {
  uint64_t high;
  uint64_t low;
} larder_key;

#define LARDER_KEY_HEX_SIZE 33

typedef struct larder_ingredient {
  larder_view name;
  larder_view bytes; /* the ingredient itself, or its 32-byte BLAKE2b-256 */
  uint64_t size;     /* of the ingredient as it was added */
  bool is_digest;    /* true: it was longer than 64 KiB */
} larder_ingredient;

LARDER_API larder_recipe* larder_recipe_create(larder_view kind, larder_error** error);
LARDER_API larder_recipe* larder_recipe_copy(const larder_recipe* recipe, larder_error** error);
/* Reads canonical bytes back; LARDER_DAMAGED when they are not exactly what some recipe has. */
LARDER_API larder_recipe* larder_recipe_from_canonical(larder_view canonical, larder_error** error);
LARDER_API void larder_recipe_destroy(larder_recipe* recipe);

/* Appends an ingredient; order counts and a name may come twice. When it fails the recipe is as it was. */
LARDER_API bool larder_recipe_add(larder_recipe* recipe, larder_view name, larder_view bytes,
                                  larder_error** error);

LARDER_API larder_view larder_recipe_kind(const larder_recipe* recipe);
/* O(ingredients), both. False: there is no such place; places count from 0. */
LARDER_API size_t larder_recipe_ingredient_count(const larder_recipe* recipe);
LARDER_API bool larder_recipe_ingredient(const larder_recipe* recipe, size_t place,
                                         larder_ingredient* ingredient);

/* The length-prefixed encoding; no two recipes share one. */
LARDER_API larder_view larder_recipe_canonical(const larder_recipe* recipe);
LARDER_API larder_key larder_recipe_key(const larder_recipe* recipe);
/* Equal canonical bytes, never merely equal keys. */
LARDER_API bool larder_recipe_is_equal(const larder_recipe* a, const larder_recipe* b);

/* 32 lower-case hex digits, high half first, and a NUL. */
LARDER_API void larder_key_hex(larder_key key, char hex[LARDER_KEY_HEX_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
