/* A memory tier: live objects under their recipes, each made once however many threads ask, kept while it is
   worth its weight. Conventions: larder/larder.h; what is promised in detail: larder/memory.hpp. */
#ifndef LARDER_C_MEMORY_H
#define LARDER_C_MEMORY_H

#include "larder/c/counters.h"
#include "larder/c/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For any thread. */
typedef struct larder_memory larder_memory;
/* A recipe that a tier knows: lookups with it hash and compare nothing. For any thread; may outlive its tier.
   With another tier there is nothing under it: larder_memory_get_or_make says LARDER_INVALID_ARGUMENT, the
   others NULL or false. */
typedef struct larder_interned larder_interned;
/* Holds an object: it lives as long as one of its handles, even when its tier has let it go. */
typedef struct larder_held larder_held;
/* A scope of one thread in which objects may be read without holding them. Guards nest. */
typedef struct larder_guard larder_guard;

typedef struct larder_memory_options {
  uint64_t bytes_max; /* weights and larder's own records; 0: the default, 256 MiB */
  uint64_t count_max; /* objects; 0: no limit */
  const char* policy; /* who leaves a full tier; NULL: the one that the measurements chose */
  double low_water;   /* share of the caps to which a full tier is emptied, up to 1; 0: just enough */
} larder_memory_options;

/* `options` may be NULL. LARDER_INVALID_ARGUMENT for a policy that does not exist or a low_water that is no
   share. */
LARDER_API larder_memory* larder_memory_create(const larder_memory_options* options, larder_error** error);
LARDER_API void larder_memory_destroy(larder_memory* memory);

LARDER_API larder_interned* larder_memory_intern(larder_memory* memory, const larder_recipe* recipe,
                                                 larder_error** error);
LARDER_API void larder_interned_destroy(larder_interned* interned);

/* What a maker hands over: `destroy` (may be NULL) is called with `object` and `context`, once, on any
   thread, when nobody holds it any more. */
typedef struct larder_object {
  void* object;
  uint64_t weight;
  void (*destroy)(void* object, void* context);
  void* context;
} larder_object;

/* True: `*made` is filled in. False: `*why` may be given an error (larder_error_create), which larder
   destroys; LARDER_TRANSIENT and LARDER_OUT_OF_RESOURCES there ask for another try. */
typedef bool (*larder_memory_make)(larder_object* made, larder_error** why, void* context);

typedef struct larder_make_options {
  const larder_interned* parent; /* the object leaves when its parent leaves; NULL: none */
  bool pinned;                   /* no policy and no pressure evicts it */
  uint64_t group;                /* who uses it, for policies that look at groups */
} larder_make_options;

typedef struct larder_answer {
  larder_outcome outcome;
  larder_reason reason; /* why it was no hit, or why its object is not kept */
  int64_t cost_ns;      /* what making took */
} larder_answer;

/* The object, made by `make` when none is kept; the caller destroys the handle. Of threads that ask at once
   one makes it and the others share its object or its error. `options` and `answer` may be NULL. */
LARDER_API larder_held* larder_memory_get_or_make(larder_memory* memory, const larder_interned* recipe,
                                                  larder_memory_make make, void* context,
                                                  const larder_make_options* options, larder_answer* answer,
                                                  larder_error** error);
/* NULL when none is kept, or memory is out. */
LARDER_API larder_held* larder_memory_get(larder_memory* memory, const larder_interned* recipe);
LARDER_API void* larder_held_object(const larder_held* held);
LARDER_API void larder_held_destroy(larder_held* held);

LARDER_API larder_guard* larder_guard_create(larder_memory* memory, larder_error** error);
/* NULL when none is kept; else good until the guard is destroyed. */
LARDER_API void* larder_guard_get(larder_guard* guard, const larder_interned* recipe);
/* objects[i] = larder_guard_get(guard, recipes[i]), faster than one by one. */
LARDER_API void larder_guard_get_many(larder_guard* guard, const larder_interned* const* recipes,
                                      void** objects, size_t count);
LARDER_API void larder_guard_destroy(larder_guard* guard);

/* True when an object was kept. */
LARDER_API bool larder_memory_erase(larder_memory* memory, const larder_interned* recipe);
LARDER_API void larder_memory_clear(larder_memory* memory);
/* False when no object is kept. */
LARDER_API bool larder_memory_set_pinned(larder_memory* memory, const larder_interned* recipe, bool pinned);

typedef enum larder_pressure {
  LARDER_PRESSURE_MODERATE = 1, /* shrink to a quarter of bytes_max */
  LARDER_PRESSURE_CRITICAL = 2, /* keep nothing */
  LARDER_PRESSURE_WIDEST = 0x7fffffff
} larder_pressure;
LARDER_API void larder_memory_relieve(larder_memory* memory, larder_pressure pressure);

typedef struct larder_memory_stats {
  uint64_t count;             /* objects kept */
  uint64_t interned;          /* recipes known */
  uint64_t bytes;             /* what counts against bytes_max */
  uint64_t unreclaimed;       /* left, but a guard may still see them, or they wait to be freed together */
  uint64_t unreclaimed_bytes; /* not part of `bytes` */
} larder_memory_stats;
LARDER_API larder_memory_stats larder_memory_get_stats(const larder_memory* memory);
/* The caller destroys it. */
LARDER_API larder_totals* larder_memory_totals(const larder_memory* memory, larder_error** error);

#ifdef __cplusplus
}
#endif

#endif
