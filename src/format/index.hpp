// The index of a store as bytes: what the entries cannot say quickly – recency, uses, cost, sums, and what
// was there before. It may be lost, cut or damaged at any time: the entries are the truth. Encode and decode,
// no I/O.
//
//   journal     := record*          appended by every process; news that no table knows yet. `stored` stands
//                                   there before its entry is published
//   shard index := record*          sorted by key, one for each key: `stored` is there, `gone` is remembered
//   record      := mark version event reason uses zero key bytes cost at zero check             (64 bytes)
//   mark        := a7 5c                                      at  0
//   version     := u8 = 1                                     at  2
//   event       := u8: 1 stored, 2 used, 3 gone               at  3
//   reason      := u8: why gone (larder/event.hpp)            at  4
//   uses        := u16: hours or so in which it was used      at  6
//   key         := u64 high, u64 low                          at  8
//   bytes       := u64: of the entry's file                   at 24
//   cost        := u64: nanoseconds                           at 32
//   at          := i64: last use, or departure; ns since 1970 at 40
//   check       := u64: low half of XXH3-128 of what stands before it  at 56
//
//   totals      := sums sums        written in turn, so that one is whole at any time; the later one counts
//   sums        := mark version fold_next folds roll_next evict_next rolled_at sequence zero check shard*256
//   mark        := "LARDTOT\n"                                at  0
//   version     := u32 = 2                                    at  8
//   fold_next   := u32: shards before it hold journal.old already                              at 12
//   folds       := u64: journals folded so far                at 16
//   roll_next   := u32: the shard to be compared with its directory next                        at 24
//   evict_next  := u32: the shard to evict from next          at 28
//   rolled_at   := i64: when that was last done               at 32
//   sequence    := u64: how often sums were written           at 40
//   check       := u64 of the rest of the header and of the shards, as above                    at 56
//   shard       := u64 bytes, u32 entries, u32 known (0: nobody has counted it)    at 64 + 16 * shard
//
// Integers are little-endian; what is called zero is zero when written and not read. A journal torn in the
// middle of a record goes on after it: readers look for the next mark whose check holds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "larder/bytes.hpp"
#include "larder/event.hpp"
#include "larder/recipe.hpp"

namespace larder::format {

// Version history of records: 1 (first).
inline constexpr std::uint8_t kIndexVersion = 1;
// Of sums: 1 (first; one in a file), 2 (two in turn, journal.old instead of a cut journal).
inline constexpr std::uint32_t kTotalsVersion = 2;
inline constexpr std::size_t kIndexRecordSize = 64;
inline constexpr std::size_t kTotalsShards = 256;
inline constexpr std::size_t kTotalsSize = 64 + 16 * kTotalsShards;

enum class IndexEvent : std::uint8_t { stored = 1, used = 2, gone = 3 };

struct IndexRecord {
  IndexEvent event = IndexEvent::stored;
  Reason reason = Reason::none;
  std::uint16_t uses = 1;
  Key key;
  std::uint64_t bytes = 0;
  Nanoseconds cost{0};
  std::int64_t at_unix_ns = 0;
};

using IndexRecordBytes = std::array<std::byte, kIndexRecordSize>;
IndexRecordBytes encode_index_record(const IndexRecord& record) noexcept;
// Nothing when these 64 bytes are no record.
std::optional<IndexRecord> decode_index_record(BytesView bytes) noexcept;

struct IndexRecords {
  std::vector<IndexRecord> records;  // in the order in which they stand
  bool is_sound = true;              // false: something between or after them was no record
};
IndexRecords decode_index_records(BytesView bytes);

struct ShardTotal {
  std::uint64_t bytes = 0;
  std::uint32_t entries = 0;
  bool is_known = false;
};

struct Totals {
  std::uint32_t fold_next = 0;
  std::uint64_t folds = 0;
  std::uint32_t roll_next = 0;
  std::uint32_t evict_next = 0;
  std::int64_t rolled_at_unix_ns = 0;
  std::uint64_t sequence = 0;
  std::array<ShardTotal, kTotalsShards> shards{};
};

using TotalsBytes = std::array<std::byte, kTotalsSize>;
void encode_totals(const Totals& totals, TotalsBytes& bytes) noexcept;
// False, and `totals` as new, when the bytes are no totals.
bool decode_totals(BytesView bytes, Totals& totals) noexcept;

}  // namespace larder::format
