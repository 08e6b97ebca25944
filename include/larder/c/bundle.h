/* Bundles: read-only files of many entries that were made elsewhere. Conventions: larder/larder.h. */
#ifndef LARDER_C_BUNDLE_H
#define LARDER_C_BUNDLE_H

#include "larder/c/events.h"
#include "larder/c/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Any thread may use one at any time. */
typedef struct larder_bundle larder_bundle;

typedef enum larder_bundle_trust {
  LARDER_BUNDLE_UNSIGNED = 1,
  LARDER_BUNDLE_UNKNOWN = 2, /* signed, by keys that are not trusted here */
  LARDER_BUNDLE_TRUSTED = 3  /* a trusted key signed it, and all of it is as it was signed */
} larder_bundle_trust;

/* Never NULL; good for ever. */
LARDER_API const char* larder_bundle_trust_name(larder_bundle_trust trust);

/* Opens the file and reads its index. `key_files` are files with public keys; NULL when key_file_count is 0.
   With `require_signature` only what one of them has signed is opened. The caller destroys it.
   LARDER_NOT_FOUND, LARDER_IO, LARDER_DAMAGED, LARDER_UNSUPPORTED or LARDER_REFUSED; the message says what to
   do. */
LARDER_API larder_bundle* larder_bundle_open(larder_view path, const larder_view* key_files,
                                             size_t key_file_count, bool require_signature,
                                             larder_error** error);
LARDER_API void larder_bundle_destroy(larder_bundle* bundle);

/* The product of exactly this recipe, a checked private copy that the caller destroys, and
   LARDER_REASON_NONE; or NULL there and why there is none. A miss costs no system call. */
LARDER_API larder_reason larder_bundle_get(const larder_bundle* bundle, const larder_recipe* recipe,
                                           larder_bytes** product);

LARDER_API larder_bundle_trust larder_bundle_trusted(const larder_bundle* bundle);
LARDER_API uint64_t larder_bundle_entries(const larder_bundle* bundle);
LARDER_API uint64_t larder_bundle_file_bytes(const larder_bundle* bundle);

/* Reads and checks everything. True: all is sound. False: the keys of the first `*count` damaged entries, at
   most as many as `*count` said, are in `damaged`, and `*count` says how many there are. */
LARDER_API bool larder_bundle_verify(const larder_bundle* bundle, larder_key* damaged, size_t* count);

/* Something this machine is: an ingredient that entries carry, with the value it has here. */
typedef struct larder_machine_fact {
  larder_view name;
  larder_view value;
} larder_machine_fact;

typedef struct larder_bundle_report {
  bool is_usable; /* it can be opened and at least one entry fits */
  larder_bundle_trust trust;
  uint64_t entries;
  uint64_t fitting; /* no ingredient named like a fact has another value */
  uint64_t damaged;
  uint64_t file_bytes;
} larder_bundle_report;

/* Whether a bundle is of use here: fills `report` and gives text that says why not, one line each reason,
   empty when everything fits. The caller destroys it. */
LARDER_API larder_bytes* larder_bundle_preflight(larder_view path, const larder_view* key_files,
                                                 size_t key_file_count, bool require_signature,
                                                 const larder_machine_fact* machine, size_t machine_count,
                                                 larder_bundle_report* report, larder_error** error);

/* Makes a pair of Ed25519 keys: the files `path` (for signing) and `path`.pub (for everybody). */
LARDER_API bool larder_bundle_make_keys(larder_view path, larder_error** error);

#ifdef __cplusplus
}
#endif

#endif
