/* A reactive graph: functions that read inputs and each other, kept up to date. Conventions: larder/larder.h;
   what is promised in detail: larder/graph.hpp. Keys and values are bytes, compared as such. */
#ifndef LARDER_C_GRAPH_H
#define LARDER_C_GRAPH_H

#include "larder/c/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For any thread. */
typedef struct larder_graph larder_graph;
/* An input or a function of a graph. Belongs to the graph. */
typedef struct larder_tracked larder_tracked;
/* What a running function reads through. For that call. */
typedef struct larder_graph_context larder_graph_context;

/* Told what the graph cannot return. On the thread it happens on. */
typedef void (*larder_graph_report)(larder_view what, void* context);

typedef struct larder_graph_options {
  uint64_t lines_max;  /* values kept. 0: the default, 4096; UINT64_MAX: no limit */
  uint64_t bytes_max;  /* their weights together. 0: no limit */
  uint32_t threads;    /* functions that may run at once. 0: one */
  const char* policy;  /* who leaves. NULL: "clock" */
  larder_cache* cache; /* where large values of snapshots are kept; must outlive the graph. NULL: nowhere */
  larder_graph_report report;
  void* report_context;
} larder_graph_options;

/* `options` may be NULL. */
LARDER_API larder_graph* larder_graph_create(const larder_graph_options* options, larder_error** error);
/* Nobody may be inside, and wants, subscriptions and batches must be gone. */
LARDER_API void larder_graph_destroy(larder_graph* graph);

/* ---- what there is. LARDER_INVALID_ARGUMENT for a name that is taken ---- */

LARDER_API larder_tracked* larder_graph_input(larder_graph* graph, const char* name, larder_error** error);

/* The value for `key`, which larder takes over; or NULL and perhaps an error in `*why`, which becomes the
   result. Where a call on the graph context failed, returning NULL with the very error it gave is right. What
   a function promises: larder/graph.hpp. */
typedef larder_bytes* (*larder_graph_call)(larder_graph_context* graph, larder_view key, larder_error** why,
                                           void* context);
/* `version` changes with what the function makes of the same reads; NULL: "". */
LARDER_API larder_tracked* larder_graph_function(larder_graph* graph, const char* name, const char* version,
                                                 larder_graph_call call, void* context, larder_error** error);
/* A function that may depend on itself: cycles through it start from `start`. */
LARDER_API larder_tracked* larder_graph_cyclic(larder_graph* graph, const char* name, const char* version,
                                               larder_view start, uint32_t rounds_max, larder_graph_call call,
                                               void* context, larder_error** error);
/* A file seen through a converter, a function from paths: `content` is the file's. As larder_graph_call. */
typedef larder_bytes* (*larder_graph_convert)(larder_view content, larder_error** why, void* context);
LARDER_API larder_tracked* larder_graph_translation(larder_graph* graph, const char* name,
                                                    const char* version, larder_graph_convert convert,
                                                    void* context, larder_error** error);

/* ---- inputs. `revision` may be NULL ---- */

LARDER_API bool larder_graph_set(larder_graph* graph, larder_tracked* input, larder_view key,
                                 larder_view value, uint64_t* revision, larder_error** error);
LARDER_API bool larder_graph_erase(larder_graph* graph, larder_tracked* input, larder_view key,
                                   uint64_t* revision, larder_error** error);

/* Sets that become one revision. For one thread. */
typedef struct larder_graph_batch larder_graph_batch;
LARDER_API larder_graph_batch* larder_graph_batch_create(larder_graph* graph, larder_error** error);
LARDER_API bool larder_graph_batch_set(larder_graph_batch* batch, larder_tracked* input, larder_view key,
                                       larder_view value, larder_error** error);
LARDER_API bool larder_graph_batch_erase(larder_graph_batch* batch, larder_tracked* input, larder_view key,
                                         larder_error** error);
/* The batch is empty afterwards. */
LARDER_API bool larder_graph_batch_commit(larder_graph_batch* batch, uint64_t* revision,
                                          larder_error** error);
LARDER_API void larder_graph_batch_destroy(larder_graph_batch* batch);

/* ---- values ---- */

/* The caller destroys it. */
LARDER_API larder_bytes* larder_graph_get(larder_graph* graph, larder_tracked* of, larder_view key,
                                          larder_error** error);

/* Ends what was asked for. For any thread. */
typedef struct larder_graph_stop larder_graph_stop;
LARDER_API larder_graph_stop* larder_graph_stop_create(larder_error** error);
LARDER_API void larder_graph_stop_request(larder_graph_stop* stop);
LARDER_API void larder_graph_stop_destroy(larder_graph_stop* stop);
/* The same until a stop is requested: LARDER_TRANSIENT then. */
LARDER_API larder_bytes* larder_graph_get_until(larder_graph* graph, larder_tracked* of, larder_view key,
                                                larder_graph_stop* stop, larder_error** error);

/* Keeps a value up to date, before anyone asks, until it is destroyed. */
typedef struct larder_graph_want larder_graph_want;
LARDER_API larder_graph_want* larder_graph_want_create(larder_graph* graph, larder_tracked* of,
                                                       larder_view key, larder_error** error);
LARDER_API void larder_graph_want_destroy(larder_graph_want* want);

/* `failure` is NULL, or what came instead of a value; it belongs to larder. */
typedef void (*larder_graph_told)(larder_view value, const larder_error* failure, uint64_t revision,
                                  void* context);
typedef struct larder_graph_subscription larder_graph_subscription;
LARDER_API larder_graph_subscription* larder_graph_subscribe(larder_graph* graph, larder_tracked* of,
                                                             larder_view key, larder_graph_told told,
                                                             void* context, larder_error** error);
/* Afterwards `told` is not running and will not be called, but for the call that this one stands in. */
LARDER_API void larder_graph_subscription_destroy(larder_graph_subscription* subscription);

/* ---- inside of a function. Views are good until it returns ---- */

LARDER_API bool larder_graph_context_get(larder_graph_context* graph, larder_tracked* of, larder_view key,
                                         larder_view* value, larder_error** error);
/* The values of `count` keys, some of which other threads may make meanwhile. */
LARDER_API bool larder_graph_context_get_all(larder_graph_context* graph, larder_tracked* of,
                                             const larder_view* keys, size_t count, larder_view* values,
                                             larder_error** error);
LARDER_API bool larder_graph_context_file(larder_graph_context* graph, const char* path, larder_view* content,
                                          larder_error** error);
/* The names in a folder, sorted, each followed by a NUL. */
LARDER_API bool larder_graph_context_folder(larder_graph_context* graph, const char* path, larder_view* names,
                                            larder_error** error);
/* A variable that is not set has a NULL pointer. */
LARDER_API bool larder_graph_context_env(larder_graph_context* graph, const char* name, larder_view* value,
                                         larder_error** error);
LARDER_API void larder_graph_context_run_again_each_revision(larder_graph_context* graph);
LARDER_API bool larder_graph_context_is_superseded(const larder_graph_context* graph);

/* ---- the graph as a whole ---- */

/* Looks again at files, folders and variables: at those in `paths`, or at all where that is NULL. */
LARDER_API bool larder_graph_refresh(larder_graph* graph, const char* const* paths, size_t count,
                                     uint64_t* revision, larder_error** error);
LARDER_API bool larder_graph_advance(larder_graph* graph, uint64_t* revision, larder_error** error);
LARDER_API uint64_t larder_graph_revision(const larder_graph* graph);
/* 0: no limit. */
LARDER_API bool larder_graph_resize(larder_graph* graph, uint64_t lines_max, uint64_t bytes_max,
                                    larder_error** error);

typedef struct larder_graph_stats {
  uint64_t nodes;
  uint64_t evaluations;
  uint64_t restarts;
  uint64_t promotions;
  uint64_t cut_offs;
  uint64_t told;
  uint64_t evictions;
  uint64_t lines;
  uint64_t bytes;
  uint64_t joined;
  uint64_t restored;
} larder_graph_stats;
LARDER_API larder_graph_stats larder_graph_get_stats(const larder_graph* graph);
LARDER_API uint64_t larder_graph_memory_bytes(const larder_graph* graph);
/* What does not hold of the graph's own rules; no bytes when all is well. For tests. */
LARDER_API larder_bytes* larder_graph_check(const larder_graph* graph, larder_error** error);

/* What the graph knows, for another run of the program. */
LARDER_API larder_bytes* larder_graph_save(larder_graph* graph, larder_error** error);
/* Into a graph whose functions are declared and that was not used yet. `nodes` may be NULL. */
LARDER_API bool larder_graph_load(larder_graph* graph, larder_view snapshot, uint64_t* nodes,
                                  larder_error** error);

#ifdef __cplusplus
}
#endif

#endif
