/* What code that the plugin has rewritten and liblarder_reuse know of each other. Nobody else includes this:
 * the layout may change with LARDER_REUSE_VERSION, which each site carries and the library checks.
 *
 * A memoized function F has a site (constant, one per function) and a place (thread-local, one per function
 * and thread). Its code looks into the place's slots itself; everything else is a call into the library:
 *
 *   slots == NULL and --countdown >= 0   the table is off: work without it
 *   slots == NULL otherwise              larder_reuse_slow() says what to do
 *   slots != NULL                        slot = slots + (hash >> shift) * (key_words + value_words)
 *                                        equal key words, read again after the value words: a hit
 *   after working, nothing impure done   where room > 0 and the key is none of the sample, it stores itself:
 *                                        ++busy, slots = NULL, the slot's words, slots, --room, --busy;
 *                                        else larder_reuse_put()
 *
 * hash is the exclusive or of key[i] * larder_reuse_odd[i] (key[i] ^ key[i] >> 32 where the site says fold).
 * A slot that was never written holds zeroes, and zeroes hash to slot 0, which holds a key that belongs
 * elsewhere: so no slot needs a word that says whether it is in use.
 *
 * Every function may be called by any thread and by signal handlers, and none fails: what cannot be had is
 * done without.
 */
#ifndef LARDER_REUSE_H
#define LARDER_REUSE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LARDER_REUSE_VERSION 1
#define LARDER_REUSE_KEY_WORDS_MAX 8
#define LARDER_REUSE_VALUE_WORDS_MAX 4
/* Of the sample are keys for which (hash ^ hash >> 32) * larder_reuse_odd[1] >> LARDER_REUSE_SAMPLE_SHIFT is
 * 0. */
#define LARDER_REUSE_SAMPLE_SHIFT 60

/* Flags of a site. */
enum {
  LARDER_REUSE_FOLD = 1,      /* the hash folds each key word first: some are floating point */
  LARDER_REUSE_TREE = 2,      /* calls itself more than once on some path */
  LARDER_REUSE_LINEAR = 4,    /* calls itself, at most once on each path */
  LARDER_REUSE_PROFILE = 8,   /* counts for the profile, never settles */
  LARDER_REUSE_ALWAYS = 16,   /* a profile or an annotation chose it: begins switched on */
  LARDER_REUSE_REENTERED = 32 /* calls what is not known, which may call it: its frames may pile up as well */
};

/* Values of a site's strategy. */
enum {
  LARDER_REUSE_ADAPTIVE = 0,
  LARDER_REUSE_ROUND_ROBIN = 1,
  LARDER_REUSE_LRU_VECTOR = 2,
  LARDER_REUSE_LRU_HASH = 3
};

struct larder_reuse_site {
  uint64_t version;
  uint64_t key_words;
  uint64_t value_words;
  uint64_t flags;
  uint64_t cost;        /* of the body, estimated, in cycles */
  const char* name;     /* as the linker sees it */
  uint64_t log2_start;  /* entries of the first table; 0: the library's choice */
  uint64_t entries_max; /* 0: the library's choice */
  uint64_t strategy;
  uint64_t fingerprint; /* of the body: a profile of another body is not for this function */
};

struct larder_reuse_table;

struct larder_reuse_place {
  uint64_t* slots;
  uint64_t shift;
  int64_t countdown;
  uint64_t stack_floor; /* memoized frames may stand at stack_floor + [0, stack_span); below, work without */
  uint64_t stack_span;
  struct larder_reuse_table* table;
  uint64_t room; /* as many results may be stored without a call */
  uint64_t busy; /* stores under way; a signal handler that interrupts one is told to work without */
};

/* What larder_reuse_slow() says. */
enum {
  LARDER_REUSE_LEAVE = 0,  /* work without the table */
  LARDER_REUSE_HIT = 1,    /* value holds the result */
  LARDER_REUSE_COMPUTE = 2 /* work, then put */
};

int larder_reuse_slow(struct larder_reuse_place* place, const struct larder_reuse_site* site, uint64_t hash,
                      const uint64_t* key, uint64_t* value);
void larder_reuse_put(struct larder_reuse_place* place, const struct larder_reuse_site* site, uint64_t hash,
                      const uint64_t* key, const uint64_t* value);
/* The same for one key word and one value word, which then travel in registers. */
void larder_reuse_put_small(struct larder_reuse_place* place, const struct larder_reuse_site* site,
                            uint64_t hash, uint64_t key, uint64_t value);
/* The module of `site` is being unloaded: no place of it is touched again. The calling thread works without
 * the function's table from now on. */
void larder_reuse_forget(const struct larder_reuse_site* site);

/* Forgets all results of the calling thread. Not for signal handlers, nor from within a memoized function. */
void larder_reuse_clear(void);

struct larder_reuse_totals {
  uint64_t tables;    /* alive, of all threads */
  uint64_t bytes;     /* that tables hold, of all threads */
  uint64_t bytes_max; /* their cap */
};
void larder_reuse_read_totals(struct larder_reuse_totals* totals);

/* Odd multipliers of the hash, one per key word. */
extern const uint64_t larder_reuse_odd[LARDER_REUSE_KEY_WORDS_MAX];

#ifdef __cplusplus
}
#endif

#endif
