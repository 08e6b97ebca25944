/* A graph served over HTTP. Conventions: larder/larder.h; what is promised in detail: larder/serve.hpp. */
#ifndef LARDER_C_SERVE_H
#define LARDER_C_SERVE_H

#include "larder/c/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For any thread. */
typedef struct larder_graph_server larder_graph_server;

/* Whether there can be a page of that key. On the server's thread: must not wait. */
typedef bool (*larder_graph_accepts)(larder_view key, void* context);

typedef struct larder_graph_serve_options {
  const char* address;          /* numeric. NULL: "127.0.0.1" */
  uint32_t port;                /* 0: any that is free */
  uint32_t pages_max;           /* live at once. 0: the default, 1024 */
  bool no_script;               /* in pages */
  larder_graph_accepts accepts; /* NULL: all may be */
  void* accepts_context;
} larder_graph_serve_options;

/* Serves what the function `pages` returns: the bytes of a page, whose type follows from the suffix of its
   path and is text/html without. Its key is the path, a NUL, and the query string. `options` may be NULL. The
   graph outlives the server. */
LARDER_API larder_graph_server* larder_graph_serve(larder_graph* graph, larder_tracked* pages,
                                                   const larder_graph_serve_options* options,
                                                   larder_error** error);
LARDER_API uint32_t larder_graph_server_port(const larder_graph_server* server);
/* Ends all connections. Not from inside of a function of the graph, nor from a subscriber. */
LARDER_API void larder_graph_server_destroy(larder_graph_server* server);

#ifdef __cplusplus
}
#endif

#endif
