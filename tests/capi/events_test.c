#include "check.h"
#include "larder/larder.h"

struct heard {
  int times;
  larder_event last;
  char detail[16];
};

static void listen(const larder_event* event, void* context) {
  struct heard* heard = context;
  ++heard->times;
  heard->last = *event;
  memcpy(heard->detail, event->detail.data, event->detail.size);
}

static larder_event some_event(void) {
  larder_event event;
  memset(&event, 0, sizeof event);
  event.kind = LARDER_EVENT_REQUEST;
  event.outcome = LARDER_OUTCOME_DISK_HIT;
  event.tier = LARDER_TIER_DISK;
  event.key.low = 7;
  event.bytes = 4096;
  event.saved_ns = 1000;
  event.detail = larder_text("remark");
  return event;
}

static void delivers_while_subscribed(void) {
  struct heard heard;
  larder_event event = some_event();
  larder_error* error = NULL;
  larder_subscription* subscription;
  memset(&heard, 0, sizeof heard);
  CHECK(!larder_events_is_listened());
  subscription = larder_events_subscribe(listen, &heard, &error);
  CHECK(subscription != NULL && error == NULL);
  CHECK(larder_events_is_listened());
  larder_events_emit(&event);
  CHECK(heard.times == 1);
  CHECK(heard.last.outcome == LARDER_OUTCOME_DISK_HIT && heard.last.tier == LARDER_TIER_DISK);
  CHECK(heard.last.key.low == 7 && heard.last.bytes == 4096 && heard.last.saved_ns == 1000);
  CHECK(heard.last.unix_ns > 0);
  CHECK(strcmp(heard.detail, "remark") == 0);
  larder_subscription_destroy(subscription);
  larder_events_emit(&event);
  CHECK(heard.times == 1);
  CHECK(!larder_events_is_listened());
  larder_subscription_destroy(NULL);
}

static void refuses_no_listener_and_too_many(void) {
  larder_subscription* all[65];
  struct heard heard;
  larder_error* error = NULL;
  int count = 0;
  CHECK(larder_events_subscribe(NULL, NULL, &error) == NULL);
  CHECK(error != NULL && larder_error_code(error) == LARDER_INVALID_ARGUMENT);
  larder_error_destroy(error);
  error = NULL;
  while (count < 65 && error == NULL) {
    all[count] = larder_events_subscribe(listen, &heard, &error);
    if (error == NULL) ++count;
  }
  CHECK(count == 64);
  CHECK(error != NULL && larder_error_code(error) == LARDER_OUT_OF_RESOURCES);
  larder_error_destroy(error);
  while (count > 0) larder_subscription_destroy(all[--count]);
}

static void names_what_it_tells(void) {
  CHECK(strcmp(larder_outcome_name(LARDER_OUTCOME_JOINED), "joined") == 0);
  CHECK(strcmp(larder_reason_name(LARDER_REASON_CORRUPT), "corrupt") == 0);
  CHECK(strcmp(larder_tier_name(LARDER_TIER_BUNDLE), "bundle") == 0);
  CHECK(strcmp(larder_event_kind_name(LARDER_EVENT_EVICTED), "evicted") == 0);
  CHECK(strcmp(larder_reason_name((larder_reason)999), "unknown") == 0);
}

int main(void) {
  delivers_while_subscribed();
  refuses_no_listener_and_too_many();
  names_what_it_tells();
  return failures != 0;
}
