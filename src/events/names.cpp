#include "larder/counters.hpp"
#include "larder/event.hpp"

namespace larder {

std::string_view name(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::memory_hit:
      return "memory_hit";
    case Outcome::disk_hit:
      return "disk_hit";
    case Outcome::bundle_hit:
      return "bundle_hit";
    case Outcome::remote_hit:
      return "remote_hit";
    case Outcome::joined:
      return "joined";
    case Outcome::made:
      return "made";
    case Outcome::failed:
      return "failed";
    case Outcome::bypassed:
      return "bypassed";
    case Outcome::missed:
      return "missed";
  }
  return "unknown";
}

std::string_view name(Reason reason) noexcept {
  switch (reason) {
    case Reason::none:
      return "none";
    case Reason::absent:
      return "absent";
    case Reason::evicted:
      return "evicted";
    case Reason::expired:
      return "expired";
    case Reason::truncated:
      return "truncated";
    case Reason::corrupt:
      return "corrupt";
    case Reason::other_recipe:
      return "other_recipe";
    case Reason::other_version:
      return "other_version";
    case Reason::unreadable:
      return "unreadable";
    case Reason::unwritable:
      return "unwritable";
    case Reason::untrusted:
      return "untrusted";
    case Reason::refused:
      return "refused";
    case Reason::too_small:
      return "too_small";
    case Reason::too_large:
      return "too_large";
    case Reason::too_cheap:
      return "too_cheap";
    case Reason::out_of_space:
      return "out_of_space";
    case Reason::out_of_resources:
      return "out_of_resources";
    case Reason::disabled:
      return "disabled";
    case Reason::read_only:
      return "read_only";
    case Reason::uncacheable:
      return "uncacheable";
    case Reason::nothing_to_store:
      return "nothing_to_store";
    case Reason::maker_failed:
      return "maker_failed";
    case Reason::transient:
      return "transient";
    case Reason::timed_out:
      return "timed_out";
    case Reason::mismatch:
      return "mismatch";
    case Reason::refreshed:
      return "refreshed";
    case Reason::cleared:
      return "cleared";
    case Reason::closed:
      return "closed";
    case Reason::negative:
      return "negative";
  }
  return "unknown";
}

std::string_view name(Tier tier) noexcept {
  switch (tier) {
    case Tier::none:
      return "none";
    case Tier::memory:
      return "memory";
    case Tier::disk:
      return "disk";
    case Tier::bundle:
      return "bundle";
    case Tier::remote:
      return "remote";
  }
  return "unknown";
}

std::string_view name(EventKind kind) noexcept {
  switch (kind) {
    case EventKind::request:
      return "request";
    case EventKind::stored:
      return "stored";
    case EventKind::evicted:
      return "evicted";
    case EventKind::damaged:
      return "damaged";
    case EventKind::warning:
      return "warning";
  }
  return "unknown";
}

std::string_view name(Counter counter) noexcept {
  switch (counter) {
    case Counter::waits:
      return "waits";
    case Counter::wait_ns:
      return "wait_ns";
    case Counter::making_ns:
      return "making_ns";
    case Counter::retries:
      return "retries";
    case Counter::stored:
      return "stored";
    case Counter::stored_bytes:
      return "stored_bytes";
    case Counter::evicted:
      return "evicted";
    case Counter::evicted_bytes:
      return "evicted_bytes";
    case Counter::evicted_cost_ns:
      return "evicted_cost_ns";
    case Counter::would_have_hit:
      return "would_have_hit";
    case Counter::damaged:
      return "damaged";
    case Counter::warnings:
      return "warnings";
  }
  return "unknown";
}

}  // namespace larder
