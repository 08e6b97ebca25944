// Sizes, durations and other values as people write and read them.
// Pure functions; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "larder/result.hpp"

namespace larder::settings {

// Each gives invalid_argument for text that does not fit: `what` says why, and what to write instead.

// A count of bytes: digits, optionally with one point, and optionally B, K, M, G, T or P, KiB ... PiB (both
// are powers of 1024) or KB ... PB (powers of 1000). Case does not matter.
Result<std::uint64_t> to_size(std::string_view text);
// Digits with ns, us, ms, s, min, h, d or w, several in a row (`1h30min`); `0` needs no unit.
Result<std::chrono::nanoseconds> to_duration(std::string_view text);
// on, yes, true, 1 and off, no, false, 0. Case does not matter.
Result<bool> to_boolean(std::string_view text);
// 0 ... 2^64-1.
Result<std::uint64_t> to_count(std::string_view text);
// 0 ... 100, with or without %.
Result<std::uint32_t> to_percent(std::string_view text);

// Shortest text that reads back as the same value: `8GiB`, `1500B`, `7d`, `90s`.
std::string exact_size(std::uint64_t bytes);
std::string exact_duration(std::chrono::nanoseconds duration);

// In back quotes, cut to a length fit for a message, without control characters.
std::string quoted(std::string_view text);
// The same without quotes.
std::string shortened(std::string_view text);

// Three digits or so, for tables: `8.0 GiB`, `312 B`, `1.5 s`, `3.2 d`.
std::string readable_size(std::uint64_t bytes);
std::string readable_duration(std::chrono::nanoseconds duration);

}  // namespace larder::settings
