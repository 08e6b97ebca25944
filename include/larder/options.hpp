// Options are what a program says about its cache; docs/settings.md lists every setting with its default.
// What a program leaves unset comes from the environment (LARDER_*), the config file or the default, in this
// order. LARDER_DISABLE=1 is the one exception: it wins over everything. A plain value for one thread at a
// time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/export.h"
#include "larder/result.hpp"

namespace larder {

// A limit of 0 is no limit, except where the comment says otherwise.
struct Options {
  // General
  std::optional<bool> disable;         // larder stands aside; every maker runs
  std::optional<std::string> mode;     // default, bypass, refresh, read-only, require-hit or verify
  std::optional<std::string> program;  // whose start-up order is remembered; default: the executable's name

  // Disk: on when `persistent` says so, or when it says nothing and a directory is named
  std::optional<std::string> dir;  // absolute
  std::optional<bool> persistent;
  std::optional<std::uint64_t> size_max;
  std::optional<std::chrono::nanoseconds> age_max;
  std::optional<std::uint64_t> entry_size_min;
  std::optional<std::uint64_t> entry_size_max;
  std::optional<std::uint64_t> free_min;  // space on the disk that is left to others
  std::optional<bool> eviction;
  std::optional<std::string> policy;
  std::optional<std::uint32_t> low_water;  // a full disk tier is emptied to so many per cent of size_max
  std::optional<bool> durable;             // every entry reaches the medium before it is published
  std::optional<std::string> runtime_dir;  // absolute; locks between processes live here

  // Memory
  std::optional<bool> memory;
  std::optional<std::uint64_t> memory_size_max;
  std::optional<std::uint64_t> memory_entries_max;
  std::optional<std::string> memory_policy;

  // Making
  std::optional<std::chrono::nanoseconds> negative_time;  // 0: failures are not remembered
  std::optional<std::chrono::nanoseconds> wait_min;       // how long to wait for another process at least,
  std::optional<std::chrono::nanoseconds> wait_max;       // and at most
  std::optional<std::uint32_t> verify_share;              // per cent of the hits that mode verify makes again

  // Writing behind; 0 bytes: entries are written at once, by the thread that made them
  std::optional<std::uint64_t> write_behind_size;
  std::optional<std::chrono::nanoseconds> write_behind_delay;
  std::optional<std::chrono::nanoseconds> close_time;  // how long close may write; 0: not at all

  // Preloading at start
  std::optional<bool> preload;
  std::optional<std::uint64_t> preload_size_max;
  std::optional<std::chrono::nanoseconds> preload_time_max;

  // Bundles
  std::optional<std::vector<std::string>> bundles;      // absolute paths, asked in this order
  std::optional<std::vector<std::string>> bundle_keys;  // files with public keys that are trusted
  std::optional<bool> require_signature;

  // Explaining
  std::optional<std::string> log;  // file of events, absolute; empty: none
  std::optional<std::uint64_t> log_size_max;
  std::optional<std::uint64_t> misses_kept;     // recipes of recent misses, for `larder why`; 0: none
  std::optional<std::uint64_t> attachment_max;  // kept text of a large ingredient; 0: none
  std::optional<std::uint64_t> maker_log_max;   // kept of what a maker wrote; 0: nothing

  friend bool operator==(const Options&, const Options&) = default;
};

// Sets the setting called `name` (as in docs/settings.md: `size-max`) from text such as `10G`, `7d` or `off`.
// invalid_argument, and nothing set, when there is no such setting or the text does not fit it; `what` says
// what to write instead.
LARDER_API Result<void> set_option(Options& options, std::string_view name, std::string_view text);

}  // namespace larder
