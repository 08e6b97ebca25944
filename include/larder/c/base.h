/* What every part of the C interface uses: version, views, bytes, errors. Conventions: larder/larder.h. */
#ifndef LARDER_C_BASE_H
#define LARDER_C_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "larder/export.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LARDER_VERSION_MAJOR 0
#define LARDER_VERSION_MINOR 1
#define LARDER_VERSION_PATCH 0

/* The version of the library that runs, as 10000 * major + 100 * minor + patch, and as text. */
LARDER_API uint32_t larder_version_number(void);
LARDER_API const char* larder_version_text(void);

/* ---- views ---- */

/* Bytes of yours. Of no bytes `data` may be NULL; of more it is LARDER_INVALID_ARGUMENT where bytes are kept.
 */
typedef struct larder_view {
  const void* data;
  size_t size;
} larder_view;

/* `text` without its NUL; NULL is no bytes. */
static inline larder_view larder_text(const char* text) {
  larder_view view;
  view.data = text;
  view.size = text == NULL ? 0 : strlen(text);
  return view;
}

/* ---- errors ---- */

typedef enum larder_code {
  LARDER_INVALID_ARGUMENT = 1, /* the caller's mistake: the call can never succeed as it stands */
  LARDER_NOT_FOUND = 2,        /* load of something that had to exist */
  LARDER_IO = 3,               /* the operating system refused */
  LARDER_DAMAGED = 4,          /* bytes that fail their own check */
  LARDER_UNSUPPORTED = 5,      /* this build or machine cannot */
  LARDER_OUT_OF_RESOURCES = 6, /* memory, descriptors, device memory; may work after making room */
  LARDER_WOULD_DEADLOCK = 7,   /* a maker asked for the product it is making */
  LARDER_MAKER_FAILED = 8,     /* the caller's maker said no; the message is the maker's */
  LARDER_TRANSIENT = 9,        /* failed for now; asking again may succeed */
  LARDER_CLOSED = 10,          /* the object was closed before the call */
  LARDER_REFUSED = 11,         /* a policy or trust rule forbids it */
  LARDER_INTERNAL = 12,        /* a bug in larder */
  LARDER_CODE_WIDEST = 0x7fffffff
} larder_code;

typedef struct larder_error larder_error;

/* For makers that say why they failed. Never NULL. A `code` that is none counts as LARDER_INVALID_ARGUMENT.
 */
LARDER_API larder_error* larder_error_create(larder_code code, larder_view message);
LARDER_API larder_code larder_error_code(const larder_error* error);
/* `open /x/y: Permission denied`: lower case, outermost first, no full stop. Good as long as the error. */
LARDER_API const char* larder_error_message(const larder_error* error);
LARDER_API void larder_error_destroy(larder_error* error);
/* Never NULL; good for ever. */
LARDER_API const char* larder_code_name(larder_code code);

/* ---- bytes: an immutable run of bytes ---- */

typedef struct larder_bytes larder_bytes;

/* Copies `view`. */
LARDER_API larder_bytes* larder_bytes_create(larder_view view, larder_error** error);
LARDER_API larder_view larder_bytes_view(const larder_bytes* bytes);
LARDER_API void larder_bytes_destroy(larder_bytes* bytes);

#ifdef __cplusplus
}
#endif

#endif
