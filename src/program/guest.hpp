// What every layer does as a guest in its host's process: whether it does anything at all, the store that it
// uses, and what it tells `larder run --report`. Any thread.
#pragma once

#include <string_view>

#include "larder/cache.hpp"

namespace larder::guest {

// Setting up a policy that learns takes longer than a small program's whole answer, and these tiers are never
// full.
inline constexpr const char* kPolicy = "lru";

// False with LARDER_DISABLE: every function of the API is the real one.
bool is_enabled() noexcept;

// One for the process, never closed: nothing is left to do when it ends. Null when it cannot be used.
Cache* open_cache();
// Writes down what was missed.
void take_notes() noexcept;
// A layer that calls the second says so by the first: what its requests are counted for is then written down
// by a thread that the second starts, and not by one that the first request starts before it is answered.
void put_off_notes() noexcept;
void take_up_notes() noexcept;

// Appends one request to what `larder run --report` reads.
void report(std::string_view layer, std::string_view outcome, Nanoseconds cost,
            std::string_view why_not) noexcept;

}  // namespace larder::guest
