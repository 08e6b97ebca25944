#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "larder/larder.h"

static larder_tracked* text;

/* Its key, whose NUL is shown as a bar, and what the text is. */
static larder_bytes* page(larder_graph_context* graph, larder_view key, larder_error** why, void* context) {
  char made[256];
  larder_view of;
  size_t i;
  (void)context;
  if (!larder_graph_context_get(graph, text, larder_text("1"), &of, why)) return NULL;
  snprintf(made, sizeof made, "%.*s", (int)key.size, (const char*)key.data);
  for (i = 0; i < key.size && i < 100; ++i) {
    made[i] = ((const char*)key.data)[i];
    if (made[i] == '\0') made[i] = '|';
  }
  snprintf(made + i, sizeof made - i, " %.*s", (int)of.size, (const char*)of.data);
  return larder_bytes_create(larder_text(made), why);
}

static bool accepts(larder_view key, void* context) {
  ++*(int*)context;
  return key.size < 2 || memcmp(key.data, "/no", 3) != 0;
}

/* The answer to one request, cut where it does not fit. */
static const char* ask(uint32_t port, const char* target) {
  static char answer[4096];
  struct sockaddr_in name;
  char request[256];
  size_t have = 0;
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  memset(&name, 0, sizeof name);
  name.sin_family = AF_INET;
  name.sin_port = htons((uint16_t)port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(connect(fd, (const struct sockaddr*)&name, sizeof name) == 0);
  snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
           target);
  CHECK(send(fd, request, strlen(request), 0) == (ssize_t)strlen(request));
  for (;;) {
    const ssize_t got = recv(fd, answer + have, sizeof answer - 1 - have, 0);
    if (got <= 0) break;
    have += (size_t)got;
  }
  close(fd);
  answer[have] = '\0';
  return answer;
}

int main(void) {
  larder_error* error = NULL;
  larder_graph_serve_options options;
  int asked = 0;
  larder_graph* const graph = larder_graph_create(NULL, &error);
  larder_tracked* pages;
  larder_graph_server* server;
  CHECK(graph != NULL);
  text = larder_graph_input(graph, "text", &error);
  pages = larder_graph_function(graph, "page", NULL, page, NULL, &error);
  CHECK(text != NULL && pages != NULL);
  CHECK(larder_graph_set(graph, text, larder_text("1"), larder_text("first"), NULL, &error));

  server = larder_graph_serve(graph, text, NULL, &error);
  CHECK(server == NULL && larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);
  error = NULL;

  memset(&options, 0, sizeof options);
  options.no_script = true;
  options.accepts = accepts;
  options.accepts_context = &asked;
  server = larder_graph_serve(graph, pages, &options, &error);
  CHECK(server != NULL);
  CHECK(strstr(ask(larder_graph_server_port(server), "/a?b=c"), "\r\n\r\n/a|b=c first") != NULL);
  CHECK(larder_graph_set(graph, text, larder_text("1"), larder_text("second"), NULL, &error));
  CHECK(strstr(ask(larder_graph_server_port(server), "/a?b=c"), "\r\n\r\n/a|b=c second") != NULL);
  CHECK(asked == 1);
  CHECK(strstr(ask(larder_graph_server_port(server), "/no"), "HTTP/1.1 404") != NULL);
  larder_graph_server_destroy(server);

  server = larder_graph_serve(graph, pages, NULL, &error);
  CHECK(server != NULL);
  CHECK(strstr(ask(larder_graph_server_port(server), "/"), "live.js") != NULL);
  larder_graph_server_destroy(server);

  options.address = "nowhere";
  server = larder_graph_serve(graph, pages, &options, &error);
  CHECK(server == NULL && error != NULL);
  larder_error_destroy(error);
  larder_graph_destroy(graph);
  return failures;
}
