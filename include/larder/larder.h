/* The C interface of larder. Conventions:

   1. Objects are opaque and belong to whoever made them: larder_NOUN_create (or another function that says
      "the caller destroys it") and larder_NOUN_destroy. Destroying NULL does nothing.
   2. A function that can fail takes a `larder_error** error` last. It returns NULL, false or 0 when it fails
      and puts an error there that the caller destroys; when it succeeds it puts NULL there. `error` itself
      may be NULL.
   3. Bytes go in and come out as larder_view: a pointer and a length. A view that comes out belongs to the
      object it was asked of and is good until that object is changed or destroyed. A view of no bytes may
      have a NULL pointer. larder_text makes a view of a string.
   4. What is new and may be long comes out as larder_bytes, which the caller destroys. Where it is text, a
      NUL follows its last byte.
   5. Pointers to objects must not be NULL unless the function says what NULL means. Enumerators may be any
      number: a number that is none is not counted and has the name "unknown".
   6. One object may be used by one thread at a time, different objects by different threads, unless the
      object is said to be for any thread. What takes `const` pointers only may be called by several threads
      at once.
   7. No C++ exception leaves larder; running out of memory is an error like others. Functions that the
      caller gives must return normally: neither longjmp nor an exception may leave them.
   8. Numbers of enumerators and fields of structures never change meaning; new ones come at the end. Ignore
      numbers that you do not know. Zero the structures that you fill. The enumerators named _WIDEST mean
      nothing: they make room for numbers to come.
   9. Times are in nanoseconds, sizes in bytes.
*/
#ifndef LARDER_LARDER_H
#define LARDER_LARDER_H

/* IWYU pragma: begin_exports */
#include "larder/c/base.h"
#include "larder/c/bundle.h"
#include "larder/c/cache.h"
#include "larder/c/cache_file.h"
#include "larder/c/counters.h"
#include "larder/c/difference.h"
#include "larder/c/events.h"
#include "larder/c/graph.h"
#include "larder/c/memo.h"
#include "larder/c/memory.h"
#include "larder/c/options.h"
#include "larder/c/program.h"
#include "larder/c/recipe.h"
#include "larder/c/serve.h"
/* IWYU pragma: end_exports */

#endif
