#include "larder/events.hpp"

#include "capi/recipe.hpp"
#include "larder/c/events.h"

using namespace larder;

struct larder_subscription {
  Subscription subscription;
};

namespace {

static_assert(LARDER_OUTCOME_MISSED == static_cast<int>(Outcome::missed));
static_assert(LARDER_REASON_NEGATIVE == static_cast<int>(Reason::negative));
static_assert(LARDER_TIER_REMOTE == static_cast<int>(Tier::remote));
static_assert(LARDER_EVENT_WARNING == static_cast<int>(EventKind::warning));

larder_event to_c(const Event& event) noexcept {
  return {.kind = static_cast<larder_event_kind>(event.kind),
          .outcome = static_cast<larder_outcome>(event.outcome),
          .reason = static_cast<larder_reason>(event.reason),
          .tier = static_cast<larder_tier>(event.tier),
          .unix_ns = event.unix_ns,
          .recipe_kind = capi::to_view(event.recipe_kind),
          .key = capi::to_c(event.key),
          .bytes = event.bytes,
          .cost_ns = event.cost.count(),
          .saved_ns = event.saved.count(),
          .duration_ns = event.duration.count(),
          .detail = capi::to_view(event.detail)};
}

Event from_c(const larder_event& event) noexcept {
  return {.kind = capi::to_enum<EventKind>(event.kind),
          .outcome = capi::to_enum<Outcome>(event.outcome),
          .reason = capi::to_enum<Reason>(event.reason),
          .tier = capi::to_enum<Tier>(event.tier),
          .unix_ns = event.unix_ns,
          .recipe_kind = capi::to_text(event.recipe_kind),
          .key = Key{event.key.high, event.key.low},
          .bytes = event.bytes,
          .cost = Nanoseconds(event.cost_ns),
          .saved = Nanoseconds(event.saved_ns),
          .duration = Nanoseconds(event.duration_ns),
          .detail = capi::to_text(event.detail)};
}

}  // namespace

const char* larder_outcome_name(larder_outcome outcome) {
  return capi::name_of<Outcome>(outcome);
}
const char* larder_reason_name(larder_reason reason) {
  return capi::name_of<Reason>(reason);
}
const char* larder_tier_name(larder_tier tier) {
  return capi::name_of<Tier>(tier);
}
const char* larder_event_kind_name(larder_event_kind kind) {
  return capi::name_of<EventKind>(kind);
}

larder_subscription* larder_events_subscribe(larder_listener listener, void* context, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_subscription*> {
    if (listener == nullptr) return fail(Code::invalid_argument, "subscribe: no function given");
    auto kept = std::make_unique<larder_subscription>();
    auto subscription = subscribe([listener, context](const Event& event) {
      const larder_event told = to_c(event);
      listener(&told, context);
    });
    if (!subscription) return tl::unexpected<Error>(std::move(subscription.error()));
    kept->subscription = std::move(*subscription);
    return kept.release();
  });
}

void larder_subscription_destroy(larder_subscription* subscription) {
  delete subscription;
}

bool larder_events_is_listened(void) {
  return is_listened();
}

void larder_events_emit(const larder_event* event) {
  emit(from_c(*event));
}
