// The names in a store's directory; nothing else in it is larder's, and nothing else is ever touched.
//
//   ROOT/CACHEDIR.TAG            tells backup programs to stay out
//   ROOT/adopted/                drivers' own caches (program/adopted.hpp)
//   ROOT/v1/                     everything of entry format 1
//   ROOT/v1/lock                 locked by the one process that is evicting or folding the index
//   ROOT/v1/journal, journal.old, totals   the index of the whole store (format/index.hpp)
//   ROOT/v1/counts, counts.old, counts.sum   what happened in this store (cache/counts.hpp)
//   ROOT/v1/misses, misses.old   recipes of recent misses (cache/misses.hpp)
//   ROOT/v1/start-<16 hex>       the order in which a program used its entries (cache/start_order.hpp)
//   ROOT/v1/verify               how far an interrupted `larder verify` came
//   ROOT/v1/<note>.new           a note being written
//   ROOT/v1/damaged/<hex digit>  the last damaged files, for inspection
//   ROOT/v1/<2 hex>/             a shard: the entries whose key begins so
//   ROOT/v1/<2 hex>/<30 hex>     an entry (format/entry.hpp): the rest of the key
//   ROOT/v1/<2 hex>/index        the index of the shard (format/index.hpp)
//   ROOT/v1/<2 hex>/.new-<16 hex>  an entry being written
#pragma once

#include <optional>
#include <string_view>

#include "base/hot.hpp"
#include "larder/recipe.hpp"

namespace larder::layout {

inline constexpr char kVersionDirectory[] = "/v1";  // behind the root
inline constexpr const char* kTag = "CACHEDIR.TAG";
inline constexpr const char* kAdopted = "adopted";  // drivers' own caches (program/adopted.hpp)
inline constexpr const char* kLock = "lock";
inline constexpr const char* kJournal = "journal";
inline constexpr const char* kJournalOlder = "journal.old";
inline constexpr const char* kTotals = "totals";
inline constexpr const char* kDamaged = "damaged";
inline constexpr std::string_view kCounts = "counts";
inline constexpr std::string_view kCountsOlder = "counts.old";
inline constexpr std::string_view kCountsSum = "counts.sum";
inline constexpr std::string_view kMisses = "misses";
inline constexpr std::string_view kMissesOlder = "misses.old";
inline constexpr std::string_view kStartPrefix = "start-";
inline constexpr std::string_view kVerifyMark = "verify";
inline constexpr std::string_view kFreshNote = ".new";
// The byte of `lock` that stands for the notes; upkeep locks byte 0.
inline constexpr std::uint64_t kNotesLockByte = 1;
inline constexpr const char* kShardIndex = "index";
inline constexpr unsigned kShardCount = 256;

inline unsigned shard_of(const Key& key) noexcept {
  return static_cast<unsigned>(key.high >> 56);
}

// A path relative to ROOT/v1, as a C string on the stack.
struct Path {
  char text[40];
  const char* c_str() const noexcept { return text; }
};

LARDER_HOT Path shard_path(unsigned shard) noexcept;
LARDER_HOT Path entry_path(const Key& key) noexcept;
// Where an entry of the shard of `key` is written before it is published; `unique` tells writers apart.
Path temporary_path(const Key& key, std::uint64_t unique) noexcept;
Path shard_index_path(unsigned shard) noexcept;
// Where a damaged entry is laid: one of a few places, by its key's last digit, so that the last few are kept.
inline constexpr std::uint64_t kDamagedPlaces = 16;
Path damaged_path(const Key& key) noexcept;
// A name within its shard made into a path.
Path path_in_shard(unsigned shard, std::string_view name) noexcept;

// The key of the entry `name` of a shard, or nothing when the name is no entry's.
std::optional<Key> key_of(unsigned shard, std::string_view name) noexcept;
bool is_temporary(std::string_view name) noexcept;
// Whether larder, of this version or another, makes something of that name in ROOT.
bool is_of_root(std::string_view name) noexcept;

}  // namespace larder::layout
