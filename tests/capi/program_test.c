#include <stdlib.h>

#include "check.h"
#include "larder/larder.h"

/* An API whose programs are the texts they were made from. */
typedef struct api_state {
  int builds;
  int creates;
  int alive;
  int destroyed;
  bool refuses;
} api_state;

typedef struct text {
  size_t size;
  char data[256];
} text;

static text* new_text(larder_view view, void* context) {
  text* made = malloc(sizeof *made);
  made->size = view.size < sizeof made->data ? view.size : sizeof made->data;
  memcpy(made->data, view.data, made->size);
  ++((api_state*)context)->alive;
  return made;
}

static bool identify(larder_device device, larder_ingredients* facts, void* context) {
  (void)context;
  return device != NULL && larder_ingredients_add(facts, larder_text("isa"), larder_text("abacus"));
}

static void* build(const larder_ingredients* what, const larder_device* devices, size_t count,
                   larder_error** why, void* context) {
  const larder_view source = larder_ingredients_find(what, larder_text("text"));
  (void)devices;
  ++((api_state*)context)->builds;
  CHECK(count == 1);
  CHECK(larder_ingredients_count(what) >= 3);
  CHECK_TEXT(larder_ingredients_name(what, 0), "form");
  CHECK_TEXT(larder_ingredients_bytes(what, 0), "source");
  if (source.size >= 2 && memcmp(source.data, "no", 2) == 0) {
    *why = larder_build_failure(-11, larder_text("line 1: no"));
    return NULL;
  }
  return new_text(source, context);
}

static void* create_from_binary(const larder_ingredients* what, const larder_device* devices, size_t count,
                                const larder_view* binaries, larder_error** why, void* context) {
  (void)what;
  (void)devices;
  (void)why;
  ++((api_state*)context)->creates;
  CHECK(count == 1);
  return ((api_state*)context)->refuses ? NULL : new_text(binaries[0], context);
}

static larder_bytes* binary_of(void* program, larder_device device, void* context) {
  larder_view view;
  (void)device;
  (void)context;
  view.data = ((text*)program)->data;
  view.size = ((text*)program)->size;
  return larder_bytes_create(view, NULL);
}

static void* kernel_of(void* program, const char* name, larder_error** why, void* context) {
  (void)program;
  (void)why;
  return strcmp(name, "none") == 0 ? NULL : new_text(larder_text(name), context);
}

static void release(void* made, void* context) {
  --((api_state*)context)->alive;
  free(made);
}

static void destroy(void* context) {
  ++((api_state*)context)->destroyed;
}

static larder_program_api the_api(void) {
  larder_program_api api;
  memset(&api, 0, sizeof api);
  api.kind = "abacus";
  api.identify = identify;
  api.build = build;
  api.create_from_binary = create_from_binary;
  api.binary_of = binary_of;
  api.kernel_of = kernel_of;
  api.release_program = release;
  api.release_kernel = release;
  api.destroy = destroy;
  return api;
}

static larder_program_input source(const char* line) {
  larder_program_input input;
  memset(&input, 0, sizeof input);
  input.form = LARDER_PROGRAM_SOURCE;
  input.text = larder_text(line);
  return input;
}

static int a_device;

static void builds_once_for_all_contexts(void) {
  const larder_program_api api = the_api();
  larder_cache* cache = larder_cache_open(NULL, NULL);
  larder_device device = &a_device;
  larder_program_input input = source("beads");
  api_state state;
  int context;
  memset(&state, 0, sizeof state);
  for (context = 0; context < 2; ++context) {
    larder_programs* programs = larder_programs_create(&api, &state, cache, NULL, NULL);
    larder_program_answer answer;
    larder_program* program = larder_programs_get_or_build(programs, &device, 1, &input, &answer, NULL);
    larder_program* again = larder_programs_get_or_build(programs, &device, 1, &input, NULL, NULL);
    larder_kernel* kernel = larder_programs_get_kernel(programs, program, larder_text("add"), NULL);
    CHECK(answer.outcome == (context == 0 ? LARDER_OUTCOME_MADE : LARDER_OUTCOME_MEMORY_HIT));
    CHECK(larder_program_handle(program) == larder_program_handle(again));
    CHECK(((text*)larder_program_handle(program))->size == strlen("beads"));
    CHECK(((text*)larder_kernel_handle(kernel))->size == strlen("add"));
    CHECK(larder_programs_get_stats(programs).programs == 1);
    CHECK(larder_programs_get_stats(programs).kernels == 1);
    larder_kernel_destroy(kernel);
    larder_program_destroy(again);
    larder_programs_clear(programs);
    CHECK(larder_programs_get_stats(programs).programs == 0);
    CHECK(larder_program_handle(program) != NULL); /* still held */
    larder_program_destroy(program);
    larder_programs_destroy(programs);
  }
  CHECK(state.builds == 1 && state.creates == 1);
  CHECK(state.alive == 0 && state.destroyed == 2);
  larder_cache_destroy(cache);
}

static void finds_a_loops_kernel_fast(void) {
  const larder_program_api api = the_api();
  larder_program_input input = source("beads");
  larder_fast_key key;
  api_state state;
  larder_programs* programs;
  larder_kernel* kernel;
  larder_kernel* again;
  memset(&state, 0, sizeof state);
  memset(&key, 0, sizeof key);
  key.image = 1;
  key.device = &a_device;
  key.name = larder_text("add");
  programs = larder_programs_create(&api, &state, NULL, NULL, NULL);
  CHECK(larder_programs_get_fast(programs, &key) == NULL);
  kernel = larder_programs_get_or_build_fast(programs, &key, &input, NULL);
  again = larder_programs_get_fast(programs, &key);
  CHECK(kernel != NULL && again != NULL);
  CHECK(larder_kernel_handle(kernel) == larder_kernel_handle(again));
  CHECK(larder_programs_get_stats(programs).fast_kernels == 1);
  larder_kernel_destroy(kernel);
  larder_kernel_destroy(again);
  larder_programs_destroy(programs);
  CHECK(state.alive == 0 && state.destroyed == 1);
}

static void passes_a_compilers_no_on(void) {
  const larder_program_api api = the_api();
  larder_cache* cache = larder_cache_open(NULL, NULL);
  larder_device device = &a_device;
  larder_program_input input = source("no such");
  larder_programs_options options;
  larder_programs* programs;
  api_state state;
  int i;
  memset(&state, 0, sizeof state);
  memset(&options, 0, sizeof options);
  options.remember_failures = true;
  programs = larder_programs_create(&api, &state, cache, &options, NULL);
  for (i = 0; i < 2; ++i) {
    larder_error* error = NULL;
    int64_t code = 0;
    larder_view log;
    CHECK(larder_programs_get_or_build(programs, &device, 1, &input, NULL, &error) == NULL);
    CHECK(larder_error_code(error) == LARDER_MAKER_FAILED);
    CHECK(larder_error_build_failure(error, &code, &log) && code == -11);
    CHECK_TEXT(log, "line 1: no");
    larder_error_destroy(error);
  }
  CHECK(state.builds == 1);
  larder_programs_destroy(programs);
  larder_cache_destroy(cache);
}

static void builds_anew_what_the_driver_refuses(void) {
  const larder_program_api api = the_api();
  larder_cache* cache = larder_cache_open(NULL, NULL);
  larder_device device = &a_device;
  larder_program_input input = source("beads");
  larder_program_answer answer;
  api_state state;
  int context;
  memset(&state, 0, sizeof state);
  for (context = 0; context < 2; ++context) {
    larder_programs* programs = larder_programs_create(&api, &state, cache, NULL, NULL);
    state.refuses = context == 1;
    larder_program_destroy(larder_programs_get_or_build(programs, &device, 1, &input, &answer, NULL));
    larder_programs_destroy(programs);
  }
  CHECK(answer.outcome == LARDER_OUTCOME_MADE && answer.reason == LARDER_REASON_REFUSED);
  CHECK(state.builds == 2 && state.alive == 0);
  larder_cache_destroy(cache);
}

static void says_why_it_does_not_keep(void) {
  larder_program_api api = the_api();
  larder_device device = &a_device;
  larder_device no_device = NULL;
  larder_program_input input = source("made on __DATE__");
  larder_program_input good = source("beads");
  larder_programs* programs;
  larder_bytes* why;
  api_state state;
  memset(&state, 0, sizeof state);
  programs = larder_programs_create(&api, &state, NULL, NULL, NULL);
  why = larder_programs_why_not(programs, &device, 1, &input, NULL);
  CHECK(larder_bytes_view(why).size > 0);
  larder_bytes_destroy(why);
  why = larder_programs_why_not(programs, &device, 1, &good, NULL);
  CHECK(larder_bytes_view(why).size == 0);
  larder_bytes_destroy(why);
  why = larder_programs_why_not(programs, &no_device, 1, &good, NULL);
  CHECK(larder_bytes_view(why).size > 0);
  larder_bytes_destroy(why);
  larder_programs_destroy(programs);
  api.build = NULL;
  CHECK(larder_programs_create(&api, &state, NULL, NULL, NULL) == NULL);
}

static void remembers_which_shaders_are_good(void) {
  larder_shader_status* status = larder_shader_status_create(NULL);
  const larder_key shaders[2] = {{1, 1}, {2, 2}};
  const larder_key program = {3, 3};
  CHECK(!larder_shader_status_is_known_good(status, shaders[0]));
  CHECK(larder_shader_status_compiled(status, shaders[0], NULL));
  CHECK(larder_shader_status_is_known_good(status, shaders[0]));
  CHECK(larder_shader_status_linked(status, program, shaders, 2, NULL));
  CHECK(larder_shader_status_is_linked(status, program));
  CHECK(larder_shader_status_is_known_good(status, shaders[1]));
  CHECK(larder_shader_status_left(status, program));
  CHECK(!larder_shader_status_left(status, program));
  CHECK(!larder_shader_status_is_known_good(status, shaders[0]));
  larder_shader_status_destroy(status);
}

int main(void) {
  builds_once_for_all_contexts();
  finds_a_loops_kernel_fast();
  passes_a_compilers_no_on();
  builds_anew_what_the_driver_refuses();
  says_why_it_does_not_keep();
  remembers_which_shaders_are_good();
  return failures;
}
