// An Event says how one request was answered, or what the cache did on its own. Everything observable is one.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "larder/export.h"
#include "larder/recipe.hpp"

namespace larder {

// How a request was answered. Numbers are stored and cross the C ABI: they never change meaning.
enum class Outcome : std::uint8_t {
  memory_hit = 1,
  disk_hit = 2,
  bundle_hit = 3,
  remote_hit = 4,
  joined = 5,    // another request was making it; its result was shared
  made = 6,      // the maker ran and its product is kept, or could not be: see the reason
  failed = 7,    // the maker ran and failed
  bypassed = 8,  // the cache stood aside; the maker ran
  missed = 9,    // no tier had it, and it was not to be made: see the reason
};

// Why it was not a hit, or why something was not kept. Numbers never change meaning.
enum class Reason : std::uint8_t {
  none = 0,
  absent = 1,             // never seen here, as far as is remembered
  evicted = 2,            // was here, had to leave
  expired = 3,            // was here, older than the age cap
  truncated = 4,          // the file ends early
  corrupt = 5,            // a checksum or a structure does not hold
  other_recipe = 6,       // the place holds the product of another recipe
  other_version = 7,      // written by another format version
  unreadable = 8,         // the operating system refused to read
  unwritable = 9,         // the operating system refused to write
  untrusted = 10,         // wrong owner, mode, type or signature
  refused = 11,           // the consumer (a driver, say) did not accept the product
  too_small = 12,         // below the minimum size
  too_large = 13,         // above the maximum size or the whole budget
  too_cheap = 14,         // cheaper to make than to load
  out_of_space = 15,      // disk or budget full
  out_of_resources = 16,  // memory or descriptors
  disabled = 17,          // switched off by a setting
  read_only = 18,         // the tier takes no writes
  uncacheable = 19,       // not all inputs can be known
  nothing_to_store = 20,  // the maker had no product to keep
  maker_failed = 21,      // the maker said no
  transient = 22,         // a failure not to be remembered
  timed_out = 23,         // a bounded wait ended
  mismatch = 24,          // verify mode: a remade product differs
  refreshed = 25,         // the caller asked to make it anew
  cleared = 26,           // removed by clear or erase
  closed = 27,            // the tier was closed
  negative = 28,          // a remembered failure was answered
};

enum class Tier : std::uint8_t { none = 0, memory = 1, disk = 2, bundle = 3, remote = 4 };

enum class EventKind : std::uint8_t {
  request = 1,  // somebody asked for a product
  stored = 2,   // an entry was kept
  evicted = 3,  // an entry had to leave
  damaged = 4,  // an entry failed its check and was put aside
  warning = 5,  // something the user should know once
};

LARDER_API std::string_view name(Outcome outcome) noexcept;
LARDER_API std::string_view name(Reason reason) noexcept;
LARDER_API std::string_view name(Tier tier) noexcept;
LARDER_API std::string_view name(EventKind kind) noexcept;

using Nanoseconds = std::chrono::nanoseconds;

// The views are valid only during the call that delivers the event.
struct Event {
  EventKind kind = EventKind::request;
  Outcome outcome = Outcome::made;
  Reason reason = Reason::none;
  Tier tier = Tier::none;
  std::int64_t unix_ns = 0;        // wall clock at the end of what it tells
  std::string_view recipe_kind{};  // empty when no recipe is concerned
  Key key{};
  std::uint64_t bytes = 0;
  Nanoseconds cost{0};        // what making took, or had taken when it was made
  Nanoseconds saved{0};       // cost that did not have to be paid
  Nanoseconds duration{0};    // what this request took
  std::string_view detail{};  // a readable remark: a path, an errno, an ingredient's name
};

}  // namespace larder
