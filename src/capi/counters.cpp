#include "capi/counters.hpp"

using namespace larder;

struct larder_counters {
  Counters counters;
};

static_assert(LARDER_COUNTER_WARNINGS + 1 == kCounterCount);

const char* larder_counter_name(larder_counter counter) {
  return capi::name_of<Counter>(counter);
}

larder_counters* larder_counters_create(larder_error** error) {
  return capi::guarded(error, []() -> Result<larder_counters*> { return new larder_counters; });
}

void larder_counters_destroy(larder_counters* counters) {
  delete counters;
}

void larder_counters_count_outcome(larder_counters* counters, larder_outcome outcome, int64_t saved_ns) {
  if (!capi::is_known<Outcome>(outcome)) return;
  counters->counters.count(capi::to_enum<Outcome>(outcome), Nanoseconds(saved_ns));
}

void larder_counters_count_reason(larder_counters* counters, larder_reason reason) {
  if (capi::is_known<Reason>(reason)) counters->counters.count(capi::to_enum<Reason>(reason));
}

void larder_counters_count(larder_counters* counters, larder_counter counter, uint64_t by) {
  if (capi::is_known<Counter>(counter)) counters->counters.count(capi::to_enum<Counter>(counter), by);
}

larder_totals* larder_counters_totals(const larder_counters* counters, larder_error** error) {
  return capi::guarded(
      error, [&]() -> Result<larder_totals*> { return new larder_totals{counters->counters.totals()}; });
}

larder_totals* larder_process_totals(larder_error** error) {
  return capi::guarded(
      error, []() -> Result<larder_totals*> { return new larder_totals{Counters::process_totals()}; });
}

void larder_totals_destroy(larder_totals* totals) {
  delete totals;
}

uint64_t larder_totals_outcome(const larder_totals* totals, larder_outcome outcome) {
  return capi::is_known<Outcome>(outcome) ? totals->totals[capi::to_enum<Outcome>(outcome)] : 0;
}

uint64_t larder_totals_reason(const larder_totals* totals, larder_reason reason) {
  return capi::is_known<Reason>(reason) ? totals->totals[capi::to_enum<Reason>(reason)] : 0;
}

uint64_t larder_totals_counter(const larder_totals* totals, larder_counter counter) {
  return capi::is_known<Counter>(counter) ? totals->totals[capi::to_enum<Counter>(counter)] : 0;
}

int64_t larder_totals_saved_ns(const larder_totals* totals, larder_outcome outcome) {
  return capi::is_known<Outcome>(outcome) ? totals->totals.saved(capi::to_enum<Outcome>(outcome)).count() : 0;
}

uint64_t larder_totals_requests(const larder_totals* totals) {
  return totals->totals.requests();
}
uint64_t larder_totals_hits(const larder_totals* totals) {
  return totals->totals.hits();
}
int64_t larder_totals_all_saved_ns(const larder_totals* totals) {
  return totals->totals.saved().count();
}
