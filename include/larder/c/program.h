/* GPU programs and kernels of one context, over an API that the caller gives as functions: built once however
   many threads ask, found again by later contexts and processes through a cache. Conventions:
   larder/larder.h; what is promised in detail: larder/program.hpp. */
#ifndef LARDER_C_PROGRAM_H
#define LARDER_C_PROGRAM_H

#include "larder/c/cache.h"
#include "larder/c/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For any thread, all three. A program or kernel is released with its last handle. */
typedef struct larder_programs larder_programs;
typedef struct larder_program larder_program;
typedef struct larder_kernel larder_kernel;
/* Named bytes, in order. */
typedef struct larder_ingredients larder_ingredients;

/* Adds one; both views are copied. False: out of memory. */
LARDER_API bool larder_ingredients_add(larder_ingredients* ingredients, larder_view name, larder_view bytes);
LARDER_API size_t larder_ingredients_count(const larder_ingredients* ingredients);
LARDER_API larder_view larder_ingredients_name(const larder_ingredients* ingredients, size_t place);
LARDER_API larder_view larder_ingredients_bytes(const larder_ingredients* ingredients, size_t place);
/* The first one of that name; no bytes when there is none. */
LARDER_API larder_view larder_ingredients_find(const larder_ingredients* ingredients, larder_view name);

typedef void* larder_device; /* what the caller's API calls a device; equal devices are equal pointers */

/* The caller's API. Functions are called from any thread, also at the same time, with `context`. Where one
   fails, `*why` may be given an error (larder_error_create), which larder destroys: a compiler's no is made
   by larder_build_failure, LARDER_OUT_OF_RESOURCES and LARDER_TRANSIENT ask for another try. */
typedef struct larder_program_api {
  const char* kind; /* what its recipes call the API */
  bool reads_files; /* its compiler may look for headers on disk */
  /* Adds to `facts` all that decides what code the device needs; devices with the same facts are alike. */
  bool (*identify)(larder_device device, larder_ingredients* facts, void* context);
  /* A program made from these ingredients alone, for these devices; NULL: it failed. */
  void* (*build)(const larder_ingredients* what, const larder_device* devices, size_t count,
                 larder_error** why, void* context);
  /* The same from binaries, one for each device; NULL: the driver refuses them. */
  void* (*create_from_binary)(const larder_ingredients* what, const larder_device* devices, size_t count,
                              const larder_view* binaries, larder_error** why, void* context);
  /* The binary for one device, which is then larder's; NULL: there is none, and the program is not kept. */
  larder_bytes* (*binary_of)(void* program, larder_device device, void* context);
  void* (*kernel_of)(void* program, const char* name, larder_error** why, void* context);
  void (*release_program)(void* program, void* context);
  void (*release_kernel)(void* kernel, void* context);
  /* Called once, when nothing of this API is held any more; may be NULL. */
  void (*destroy)(void* context);
} larder_program_api;

/* For a maker: the compiler said no, with its own number and log. */
LARDER_API larder_error* larder_build_failure(int64_t code, larder_view log);
/* False when `error` is no build failure. The log belongs to `error`. */
LARDER_API bool larder_error_build_failure(const larder_error* error, int64_t* code, larder_view* log);

typedef struct larder_programs_options {
  uint64_t bytes_max;     /* of live programs; 0: the default */
  uint64_t programs_max;  /* 0: no limit */
  bool remember_failures; /* a compiler's no is kept like a product */
} larder_programs_options;

/* `cache` may be NULL and outlives the programs; so may `options`. `api` is copied, `context` goes with it.
 */
LARDER_API larder_programs* larder_programs_create(const larder_program_api* api, void* context,
                                                   larder_cache* cache,
                                                   const larder_programs_options* options,
                                                   larder_error** error);
LARDER_API void larder_programs_destroy(larder_programs* programs);

typedef enum larder_program_form {
  LARDER_PROGRAM_SOURCE = 1,
  LARDER_PROGRAM_IMAGE = 2,
  LARDER_PROGRAM_LINKED = 3,
  LARDER_PROGRAM_INTEROP = 4,
  LARDER_PROGRAM_WIDEST = 0x7fffffff
} larder_program_form;

typedef struct larder_program_header {
  larder_view name;
  larder_view text;
} larder_program_header;

typedef struct larder_spec_constant {
  uint32_t id;
  larder_view value;
} larder_spec_constant;

typedef struct larder_option_pair {
  larder_view compile;
  larder_view link;
} larder_option_pair;

typedef struct larder_program_input {
  larder_program_form form;
  larder_view text;
  const larder_program_header* headers;
  size_t header_count;
  const larder_spec_constant* constants;
  size_t constant_count;
  const struct larder_program_input* parts; /* of a linked program */
  size_t part_count;
  /* Merged in this order. */
  larder_option_pair image_options;
  larder_option_pair call_options;
  larder_option_pair environment_options;
} larder_program_input;

typedef struct larder_program_answer {
  larder_outcome outcome;
  larder_reason reason;
  int64_t cost_ns;
} larder_program_answer;

/* The caller destroys the program. `answer` may be NULL. */
LARDER_API larder_program* larder_programs_get_or_build(larder_programs* programs,
                                                        const larder_device* devices, size_t count,
                                                        const larder_program_input* input,
                                                        larder_program_answer* answer, larder_error** error);
/* Why a program made from `input` is not kept; no bytes: it is. The caller destroys them. */
LARDER_API larder_bytes* larder_programs_why_not(larder_programs* programs, const larder_device* devices,
                                                 size_t count, const larder_program_input* input,
                                                 larder_error** error);
LARDER_API void* larder_program_handle(const larder_program* program);
/* What its compiler said, whenever it was built. */
LARDER_API larder_view larder_program_log(const larder_program* program);
LARDER_API void larder_program_destroy(larder_program* program);

/* The caller destroys the kernel. */
LARDER_API larder_kernel* larder_programs_get_kernel(larder_programs* programs, const larder_program* program,
                                                     larder_view name, larder_error** error);
LARDER_API void* larder_kernel_handle(const larder_kernel* kernel);
LARDER_API void larder_kernel_destroy(larder_kernel* kernel);

/* What a loop that submits knows of its kernel: `image` stands for all of a larder_program_input but its
   constants. */
typedef struct larder_fast_key {
  uint64_t image;
  larder_view constants;
  larder_device device;
  larder_view name;
} larder_fast_key;

/* NULL when it is not there; the caller destroys it. */
LARDER_API larder_kernel* larder_programs_get_fast(larder_programs* programs, const larder_fast_key* key);
/* The same; what is not there is got from `input`, and is there the next time. */
LARDER_API larder_kernel* larder_programs_get_or_build_fast(larder_programs* programs,
                                                            const larder_fast_key* key,
                                                            const larder_program_input* input,
                                                            larder_error** error);

LARDER_API void larder_programs_clear(larder_programs* programs);

typedef struct larder_programs_stats {
  uint64_t programs;
  uint64_t kernels;
  uint64_t fast_kernels;
  uint64_t bytes;
} larder_programs_stats;
LARDER_API larder_programs_stats larder_programs_get_stats(const larder_programs* programs);

/* Which shaders compiled and which programs linked; see larder/shader_status.hpp. For any thread. */
typedef struct larder_shader_status larder_shader_status;
LARDER_API larder_shader_status* larder_shader_status_create(larder_error** error);
LARDER_API void larder_shader_status_destroy(larder_shader_status* status);
LARDER_API bool larder_shader_status_is_known_good(const larder_shader_status* status, larder_key shader);
LARDER_API bool larder_shader_status_compiled(larder_shader_status* status, larder_key shader,
                                              larder_error** error);
LARDER_API bool larder_shader_status_is_linked(const larder_shader_status* status, larder_key program);
LARDER_API bool larder_shader_status_linked(larder_shader_status* status, larder_key program,
                                            const larder_key* shaders, size_t count, larder_error** error);
/* False when it was not known. */
LARDER_API bool larder_shader_status_left(larder_shader_status* status, larder_key program);

#ifdef __cplusplus
}
#endif

#endif
