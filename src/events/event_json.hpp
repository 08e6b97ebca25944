// An event as one line of JSON, made without the heap, so that a log line costs its write and little more.
//
//   {"schema":1,"time":"2026-01-31T23:59:59.123456789Z","pid":7,"event":"request","outcome":"made",
//    "reason":"absent","tier":"memory","recipe":"opencl-program","key":"<32 hex digits>","bytes":4096,
//    "cost_ns":1000,"saved_ns":0,"duration_ns":1200,"detail":"..."}
//
// `outcome` is there for requests only, `reason` and `tier` unless none, `recipe` and `key` when a recipe is
// concerned, `detail` unless empty. Bytes that are no UTF-8 stand as U+FFFD. Long strings are cut and end in
// "...".
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "larder/event.hpp"

namespace larder {

inline constexpr std::size_t kRecipeKindShownMax = 128;
inline constexpr std::size_t kDetailShownMax = 512;
// What a line can take at most: every byte of its strings as \u00xx, the rest.
inline constexpr std::size_t kEventLineMax = 6 * (kRecipeKindShownMax + kDetailShownMax) + 512;

using EventLine = std::array<char, kEventLineMax>;

// Writes the line, its newline included, to the front of `out` and shows it.
std::string_view write_json(const Event& event, int pid, EventLine& out) noexcept;

}  // namespace larder
