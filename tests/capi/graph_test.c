#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "larder/larder.h"

typedef struct program {
  larder_graph* graph;
  larder_tracked* in;
  larder_tracked* upper;
  larder_tracked* both;
  larder_tracked* self;
  atomic_int runs; /* what both asks for runs side by side */
  int told;
  char last[64];
} program;

static larder_bytes* upper(larder_graph_context* graph, larder_view key, larder_error** why, void* context) {
  program* p = context;
  larder_view text;
  char made[64];
  size_t i;
  ++p->runs;
  if (!larder_graph_context_get(graph, p->in, key, &text, why)) return NULL;
  for (i = 0; i < text.size && i < sizeof made; ++i) {
    const char c = ((const char*)text.data)[i];
    made[i] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  text.data = made;
  return larder_bytes_create(text, why);
}

static larder_bytes* both(larder_graph_context* graph, larder_view key, larder_error** why, void* context) {
  program* p = context;
  larder_view keys[2];
  larder_view values[2];
  char made[128];
  (void)key;
  ++p->runs;
  keys[0] = larder_text("1");
  keys[1] = larder_text("2");
  if (!larder_graph_context_get_all(graph, p->upper, keys, 2, values, why)) return NULL;
  snprintf(made, sizeof made, "%.*s+%.*s", (int)values[0].size, (const char*)values[0].data,
           (int)values[1].size, (const char*)values[1].data);
  return larder_bytes_create(larder_text(made), why);
}

/* Counts itself up to nine. */
static larder_bytes* rise(larder_graph_context* graph, larder_view key, larder_error** why, void* context) {
  program* p = context;
  larder_view value;
  char made[2] = "0";
  if (!larder_graph_context_get(graph, p->self, key, &value, why)) return NULL;
  made[0] = *(const char*)value.data;
  if (made[0] < '9') ++made[0];
  return larder_bytes_create(larder_text(made), why);
}

static larder_bytes* outside(larder_graph_context* graph, larder_view key, larder_error** why,
                             void* context) {
  larder_view content;
  larder_view names;
  larder_view value;
  char made[256];
  (void)key;
  if (!larder_graph_context_file(graph, (const char*)context, &content, why)) return NULL;
  if (!larder_graph_context_env(graph, "LARDER_TEST_NOT_SET", &value, why)) return NULL;
  CHECK(value.data == NULL);
  if (larder_graph_context_folder(graph, "/there/is/none", &names, NULL)) return NULL;
  if (!larder_graph_context_folder(graph, "/", &names, why)) return NULL;
  CHECK(names.size != 0 && ((const char*)names.data)[names.size - 1] == 0);
  larder_graph_context_run_again_each_revision(graph);
  CHECK(!larder_graph_context_is_superseded(graph));
  snprintf(made, sizeof made, "%.*s!", (int)content.size, (const char*)content.data);
  return larder_bytes_create(larder_text(made), why);
}

static larder_bytes* first_of(larder_view content, larder_error** why, void* context) {
  (void)context;
  if (content.size == 0) {
    *why = larder_error_create(LARDER_INVALID_ARGUMENT, larder_text("is empty"));
    return NULL;
  }
  content.size = 1;
  return larder_bytes_create(content, why);
}

static void told(larder_view value, const larder_error* failure, uint64_t revision, void* context) {
  program* p = context;
  ++p->told;
  CHECK(revision == larder_graph_revision(p->graph));
  if (failure != NULL)
    snprintf(p->last, sizeof p->last, "error: %s", larder_error_message(failure));
  else
    snprintf(p->last, sizeof p->last, "%.*s", (int)value.size, (const char*)value.data);
}

static void declare(program* p, const larder_graph_options* options) {
  larder_error* error = NULL;
  memset(p, 0, sizeof *p);
  p->graph = larder_graph_create(options, &error);
  CHECK(p->graph != NULL && error == NULL);
  p->in = larder_graph_input(p->graph, "in", NULL);
  p->upper = larder_graph_function(p->graph, "upper", "1", upper, p, NULL);
  p->both = larder_graph_function(p->graph, "both", NULL, both, p, NULL);
  p->self = larder_graph_cyclic(p->graph, "rise", NULL, larder_text("0"), 20, rise, p, NULL);
  CHECK(p->in != NULL && p->upper != NULL && p->both != NULL && p->self != NULL);
}

static void check_value(program* p, larder_tracked* of, const char* key, const char* expected) {
  larder_error* error = NULL;
  larder_bytes* const value = larder_graph_get(p->graph, of, larder_text(key), &error);
  CHECK(value != NULL && error == NULL);
  if (value != NULL) CHECK_TEXT(larder_bytes_view(value), expected);
  larder_bytes_destroy(value);
}

static void check_rules(program* p) {
  larder_bytes* const wrong = larder_graph_check(p->graph, NULL);
  CHECK_TEXT(larder_bytes_view(wrong), "");
  larder_bytes_destroy(wrong);
}

static void sets_and_gets(uint32_t threads) {
  larder_graph_options options = {0};
  program p;
  uint64_t revision = 0;
  larder_error* error = NULL;
  larder_graph_batch* batch;
  larder_graph_want* want;
  larder_graph_subscription* subscription;
  larder_graph_stop* stop;
  options.threads = threads;
  options.lines_max = UINT64_MAX;
  declare(&p, &options);
  CHECK(larder_graph_input(p.graph, "in", &error) == NULL);
  CHECK(larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);
  CHECK(larder_graph_get(p.graph, p.upper, larder_text("1"), &error) == NULL);
  CHECK(larder_error_code(error) == LARDER_NOT_FOUND);
  larder_error_destroy(error);
  CHECK(!larder_graph_set(p.graph, p.upper, larder_text("1"), larder_text("x"), NULL, &error));
  CHECK(larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);

  batch = larder_graph_batch_create(p.graph, NULL);
  CHECK(larder_graph_batch_set(batch, p.in, larder_text("1"), larder_text("one"), NULL));
  CHECK(larder_graph_batch_set(batch, p.in, larder_text("2"), larder_text("two"), NULL));
  CHECK(larder_graph_batch_set(batch, p.in, larder_text("3"), larder_text("three"), NULL));
  CHECK(larder_graph_batch_erase(batch, p.in, larder_text("3"), NULL));
  CHECK(larder_graph_batch_commit(batch, &revision, NULL));
  CHECK(revision == 1);
  larder_graph_batch_destroy(batch);
  check_value(&p, p.both, "", "ONE+TWO");
  check_value(&p, p.self, "", "9");

  want = larder_graph_want_create(p.graph, p.both, larder_text(""), NULL);
  subscription = larder_graph_subscribe(p.graph, p.both, larder_text(""), told, &p, NULL);
  CHECK(want != NULL && subscription != NULL);
  p.runs = 0;
  CHECK(larder_graph_set(p.graph, p.in, larder_text("1"), larder_text("ONE"), &revision, NULL));
  CHECK(p.runs == 1 && p.told == 0); /* cut off */
  CHECK(larder_graph_set(p.graph, p.in, larder_text("1"), larder_text("uno"), &revision, NULL));
  CHECK(revision == 3 && p.told == 1 && strcmp(p.last, "UNO+TWO") == 0);
  CHECK(larder_graph_erase(p.graph, p.in, larder_text("2"), NULL, NULL));
  CHECK(p.told == 2 && strcmp(p.last, "error: in(2): was never set") == 0);
  larder_graph_subscription_destroy(subscription);
  larder_graph_want_destroy(want);
  CHECK(larder_graph_set(p.graph, p.in, larder_text("2"), larder_text("due"), NULL, NULL));
  CHECK(p.told == 2);

  stop = larder_graph_stop_create(NULL);
  larder_bytes_destroy(larder_graph_get_until(p.graph, p.both, larder_text(""), stop, &error));
  CHECK(error == NULL);
  larder_graph_stop_request(stop);
  CHECK(larder_graph_get_until(p.graph, p.both, larder_text(""), stop, &error) == NULL);
  CHECK(larder_error_code(error) == LARDER_TRANSIENT);
  larder_error_destroy(error);
  larder_graph_stop_destroy(stop);

  CHECK(larder_graph_advance(p.graph, &revision, NULL));
  CHECK(revision == larder_graph_revision(p.graph));
  CHECK(larder_graph_resize(p.graph, 2, 0, NULL));
  CHECK(larder_graph_get_stats(p.graph).evictions > 0);
  CHECK(larder_graph_get_stats(p.graph).evaluations > 5);
  CHECK(larder_graph_memory_bytes(p.graph) > 0);
  check_value(&p, p.both, "", "UNO+DUE");
  check_rules(&p);
  larder_graph_destroy(p.graph);
}

static void saves_and_loads(void) {
  program first;
  program next;
  uint64_t nodes = 0;
  larder_error* error = NULL;
  larder_bytes* snapshot;
  larder_view cut;
  declare(&first, NULL);
  CHECK(larder_graph_set(first.graph, first.in, larder_text("1"), larder_text("a"), NULL, NULL));
  CHECK(larder_graph_set(first.graph, first.in, larder_text("2"), larder_text("b"), NULL, NULL));
  check_value(&first, first.both, "", "A+B");
  snapshot = larder_graph_save(first.graph, NULL);
  CHECK(snapshot != NULL);
  larder_graph_destroy(first.graph);
  declare(&next, NULL);
  cut = larder_bytes_view(snapshot);
  --cut.size;
  CHECK(!larder_graph_load(next.graph, cut, NULL, &error));
  CHECK(larder_error_code(error) == LARDER_DAMAGED);
  larder_error_destroy(error);
  CHECK(larder_graph_load(next.graph, larder_bytes_view(snapshot), &nodes, NULL));
  CHECK(nodes == 5);
  check_value(&next, next.both, "", "A+B");
  CHECK(next.runs == 0);
  check_rules(&next);
  larder_graph_destroy(next.graph);
  larder_bytes_destroy(snapshot);
}

static void write_file(const char* path, const char* text) {
  FILE* const file = fopen(path, "wb");
  CHECK(file != NULL);
  fputs(text, file);
  fclose(file);
}

static void reads_outside(void) {
  char path[64];
  const char* paths[1];
  program p;
  larder_tracked* shown;
  larder_tracked* first;
  snprintf(path, sizeof path, "graph-test-%06d.txt", rand() % 1000000);
  paths[0] = path;
  declare(&p, NULL);
  shown = larder_graph_function(p.graph, "shown", NULL, outside, path, NULL);
  first = larder_graph_translation(p.graph, "first", NULL, first_of, NULL, NULL);
  write_file(path, "abc");
  check_value(&p, shown, "", "abc!");
  check_value(&p, first, path, "a");
  write_file(path, "xyz!");
  CHECK(larder_graph_refresh(p.graph, paths, 1, NULL, NULL));
  check_value(&p, shown, "", "xyz!!");
  write_file(path, "");
  CHECK(larder_graph_refresh(p.graph, NULL, 0, NULL, NULL));
  CHECK(larder_graph_get(p.graph, first, larder_text(path), NULL) == NULL);
  remove(path);
  larder_graph_destroy(p.graph);
}

static void count_reports(larder_view what, void* context) {
  CHECK(what.size != 0);
  ++*(int*)context;
}

/* Gives another result whenever it is asked. */
static larder_bytes* fickle(larder_graph_context* graph, larder_view key, larder_error** why, void* context) {
  char made[32];
  (void)graph;
  (void)key;
  snprintf(made, sizeof made, "%d", ++*(int*)context);
  return larder_bytes_create(larder_text(made), why);
}

static void reports(void) {
  larder_graph_options options = {0};
  program p;
  larder_tracked* f;
  int count = 0;
  int state = 0;
  options.lines_max = 1;
  options.policy = "lru";
  options.report = count_reports;
  options.report_context = &count;
  declare(&p, &options);
  f = larder_graph_function(p.graph, "fickle", NULL, fickle, &state, NULL);
  CHECK(larder_graph_set(p.graph, p.in, larder_text("1"), larder_text("a"), NULL, NULL));
  {
    larder_graph_want* const want = larder_graph_want_create(p.graph, f, larder_text("1"), NULL);
    larder_graph_want_destroy(want);
  }
  check_value(&p, p.upper, "1", "A");
  larder_bytes_destroy(larder_graph_get(p.graph, f, larder_text("1"), NULL));
  CHECK(count <=
        1); /* a node that nobody depends on leaves with its value, and there is nothing to compare */
  larder_graph_destroy(p.graph);
  options.policy = "guess";
  {
    larder_error* error = NULL;
    CHECK(larder_graph_create(&options, &error) == NULL);
    CHECK(larder_error_code(error) == LARDER_INVALID_ARGUMENT);
    larder_error_destroy(error);
  }
}

int main(void) {
  sets_and_gets(0);
  sets_and_gets(3);
  saves_and_loads();
  reads_outside();
  reports();
  return failures == 0 ? 0 : 1;
}
