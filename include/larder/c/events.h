/* The event stream of the process: every request, eviction and warning, told to whoever subscribes.
   Conventions: larder/larder.h. */
#ifndef LARDER_C_EVENTS_H
#define LARDER_C_EVENTS_H

#include "larder/c/recipe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a request was answered. */
typedef enum larder_outcome {
  LARDER_OUTCOME_MEMORY_HIT = 1,
  LARDER_OUTCOME_DISK_HIT = 2,
  LARDER_OUTCOME_BUNDLE_HIT = 3,
  LARDER_OUTCOME_REMOTE_HIT = 4,
  LARDER_OUTCOME_JOINED = 5,   /* another request was making it; its result was shared */
  LARDER_OUTCOME_MADE = 6,     /* the maker ran and its product is kept, or could not be: see the reason */
  LARDER_OUTCOME_FAILED = 7,   /* the maker ran and failed */
  LARDER_OUTCOME_BYPASSED = 8, /* the cache stood aside; the maker ran */
  LARDER_OUTCOME_MISSED = 9,   /* no tier had it, and it was not to be made: see the reason */
  LARDER_OUTCOME_WIDEST = 0x7fffffff
} larder_outcome;

/* Why it was not a hit, or why something was not kept. */
typedef enum larder_reason {
  LARDER_REASON_NONE = 0,
  LARDER_REASON_ABSENT = 1,
  LARDER_REASON_EVICTED = 2,
  LARDER_REASON_EXPIRED = 3,
  LARDER_REASON_TRUNCATED = 4,
  LARDER_REASON_CORRUPT = 5,
  LARDER_REASON_OTHER_RECIPE = 6,
  LARDER_REASON_OTHER_VERSION = 7,
  LARDER_REASON_UNREADABLE = 8,
  LARDER_REASON_UNWRITABLE = 9,
  LARDER_REASON_UNTRUSTED = 10,
  LARDER_REASON_REFUSED = 11,
  LARDER_REASON_TOO_SMALL = 12,
  LARDER_REASON_TOO_LARGE = 13,
  LARDER_REASON_TOO_CHEAP = 14,
  LARDER_REASON_OUT_OF_SPACE = 15,
  LARDER_REASON_OUT_OF_RESOURCES = 16,
  LARDER_REASON_DISABLED = 17,
  LARDER_REASON_READ_ONLY = 18,
  LARDER_REASON_UNCACHEABLE = 19,
  LARDER_REASON_NOTHING_TO_STORE = 20,
  LARDER_REASON_MAKER_FAILED = 21,
  LARDER_REASON_TRANSIENT = 22,
  LARDER_REASON_TIMED_OUT = 23,
  LARDER_REASON_MISMATCH = 24,
  LARDER_REASON_REFRESHED = 25,
  LARDER_REASON_CLEARED = 26,
  LARDER_REASON_CLOSED = 27,
  LARDER_REASON_NEGATIVE = 28,
  LARDER_REASON_WIDEST = 0x7fffffff
} larder_reason;

typedef enum larder_tier {
  LARDER_TIER_NONE = 0,
  LARDER_TIER_MEMORY = 1,
  LARDER_TIER_DISK = 2,
  LARDER_TIER_BUNDLE = 3,
  LARDER_TIER_REMOTE = 4,
  LARDER_TIER_WIDEST = 0x7fffffff
} larder_tier;

typedef enum larder_event_kind {
  LARDER_EVENT_REQUEST = 1, /* somebody asked for a product */
  LARDER_EVENT_STORED = 2,  /* an entry was kept */
  LARDER_EVENT_EVICTED = 3, /* an entry had to leave */
  LARDER_EVENT_DAMAGED = 4, /* an entry failed its check and was put aside */
  LARDER_EVENT_WARNING = 5, /* something the user should know once */
  LARDER_EVENT_KIND_WIDEST = 0x7fffffff
} larder_event_kind;

/* Never NULL; good for ever. */
LARDER_API const char* larder_outcome_name(larder_outcome outcome);
LARDER_API const char* larder_reason_name(larder_reason reason);
LARDER_API const char* larder_tier_name(larder_tier tier);
LARDER_API const char* larder_event_kind_name(larder_event_kind kind);

typedef struct larder_event {
  larder_event_kind kind;
  larder_outcome outcome; /* of a request */
  larder_reason reason;
  larder_tier tier;
  int64_t unix_ns;         /* wall clock at the end of what it tells */
  larder_view recipe_kind; /* no bytes when no recipe is concerned */
  larder_key key;
  uint64_t bytes;
  int64_t cost_ns;     /* what making took, or had taken when it was made */
  int64_t saved_ns;    /* cost that did not have to be paid */
  int64_t duration_ns; /* what this request took */
  larder_view detail;  /* a readable remark: a path, an errno, an ingredient's name */
} larder_event;

/* Called on the thread that emits, from many threads at once, and quickly, please: a request waits for it.
   The event is good during the call only. Events that its own calls cause are not delivered to it again. */
typedef void (*larder_listener)(const larder_event* event, void* context);

typedef struct larder_subscription larder_subscription;

/* At most 64 listen at once: LARDER_OUT_OF_RESOURCES. Any thread may subscribe, emit and ask. */
LARDER_API larder_subscription* larder_events_subscribe(larder_listener listener, void* context,
                                                        larder_error** error);
/* Ends it: when this returns the listener neither runs nor will run. Called from inside a listener it does
   not wait, and a call under way elsewhere finishes later. */
LARDER_API void larder_subscription_destroy(larder_subscription* subscription);

/* False: an event would be heard by nobody. */
LARDER_API bool larder_events_is_listened(void);
/* An event whose unix_ns is 0 gets the present time. */
LARDER_API void larder_events_emit(const larder_event* event);

#ifdef __cplusplus
}
#endif

#endif
