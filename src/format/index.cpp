#include "format/index.hpp"

#include <algorithm>
#include <cstring>

#include "format/checksum.hpp"
#include "format/little_endian.hpp"

namespace larder::format {
namespace {

constexpr std::byte kRecordMark[2] = {std::byte{0xa7}, std::byte{0x5c}};
constexpr std::size_t kRecordVersionAt = 2;
constexpr std::size_t kRecordEventAt = 3;
constexpr std::size_t kRecordReasonAt = 4;
constexpr std::size_t kRecordUsesAt = 6;
constexpr std::size_t kRecordKeyAt = 8;
constexpr std::size_t kRecordBytesAt = 24;
constexpr std::size_t kRecordCostAt = 32;
constexpr std::size_t kRecordAtAt = 40;
constexpr std::size_t kRecordCheckAt = 56;

constexpr char kTotalsMark[8] = {'L', 'A', 'R', 'D', 'T', 'O', 'T', '\n'};
constexpr std::size_t kTotalsVersionAt = 8;
constexpr std::size_t kFoldNextAt = 12;
constexpr std::size_t kFoldsAt = 16;
constexpr std::size_t kRollNextAt = 24;
constexpr std::size_t kEvictNextAt = 28;
constexpr std::size_t kRolledAtAt = 32;
constexpr std::size_t kSequenceAt = 40;
constexpr std::size_t kShardsAt = 64;
constexpr std::size_t kShardSize = 16;

std::uint64_t totals_check(const std::byte* at) noexcept {
  RunningChecksum sum;
  sum.add({at, kRecordCheckAt});
  sum.add({at + kShardsAt, kTotalsSize - kShardsAt});
  return sum.result().low;
}

}  // namespace

IndexRecordBytes encode_index_record(const IndexRecord& record) noexcept {
  IndexRecordBytes bytes{};
  std::byte* const at = bytes.data();
  std::copy_n(kRecordMark, sizeof kRecordMark, at);
  at[kRecordVersionAt] = std::byte{kIndexVersion};
  at[kRecordEventAt] = static_cast<std::byte>(record.event);
  at[kRecordReasonAt] = static_cast<std::byte>(record.reason);
  store(at + kRecordUsesAt, record.uses);
  store(at + kRecordKeyAt, record.key.high);
  store(at + kRecordKeyAt + 8, record.key.low);
  store(at + kRecordBytesAt, record.bytes);
  store(at + kRecordCostAt, std::int64_t{record.cost.count()});
  store(at + kRecordAtAt, record.at_unix_ns);
  store(at + kRecordCheckAt, checksum({at, kRecordCheckAt}).low);
  return bytes;
}

std::optional<IndexRecord> decode_index_record(BytesView bytes) noexcept {
  if (bytes.size() < kIndexRecordSize) return std::nullopt;
  const std::byte* const at = bytes.data();
  if (std::memcmp(at, kRecordMark, sizeof kRecordMark) != 0 ||
      at[kRecordVersionAt] != std::byte{kIndexVersion})
    return std::nullopt;
  if (load<std::uint64_t>(at + kRecordCheckAt) != checksum({at, kRecordCheckAt}).low) return std::nullopt;
  const auto event = static_cast<std::uint8_t>(at[kRecordEventAt]);
  if (event < static_cast<std::uint8_t>(IndexEvent::stored) ||
      event > static_cast<std::uint8_t>(IndexEvent::gone)) {
    return std::nullopt;
  }
  IndexRecord record;
  record.event = static_cast<IndexEvent>(event);
  record.reason = static_cast<Reason>(at[kRecordReasonAt]);
  record.uses = load<std::uint16_t>(at + kRecordUsesAt);
  record.key = {load<std::uint64_t>(at + kRecordKeyAt), load<std::uint64_t>(at + kRecordKeyAt + 8)};
  record.bytes = load<std::uint64_t>(at + kRecordBytesAt);
  record.cost = Nanoseconds(std::max<std::int64_t>(0, load<std::int64_t>(at + kRecordCostAt)));
  record.at_unix_ns = load<std::int64_t>(at + kRecordAtAt);
  return record;
}

IndexRecords decode_index_records(BytesView bytes) {
  IndexRecords all;
  all.records.reserve(bytes.size() / kIndexRecordSize);
  while (!bytes.empty()) {
    if (const auto record = decode_index_record(bytes)) {
      all.records.push_back(*record);
      bytes = bytes.subspan(kIndexRecordSize);
      continue;
    }
    all.is_sound = false;
    const auto next = std::find(bytes.begin() + 1, bytes.end(), kRecordMark[0]);
    bytes = bytes.subspan(static_cast<std::size_t>(next - bytes.begin()));
  }
  return all;
}

void encode_totals(const Totals& totals, TotalsBytes& bytes) noexcept {
  bytes.fill(std::byte{0});
  std::byte* const at = bytes.data();
  std::memcpy(at, kTotalsMark, sizeof kTotalsMark);
  store(at + kTotalsVersionAt, std::uint32_t{kTotalsVersion});
  store(at + kFoldNextAt, totals.fold_next);
  store(at + kFoldsAt, totals.folds);
  store(at + kRollNextAt, totals.roll_next);
  store(at + kEvictNextAt, totals.evict_next);
  store(at + kRolledAtAt, totals.rolled_at_unix_ns);
  store(at + kSequenceAt, totals.sequence);
  for (std::size_t i = 0; i < kTotalsShards; ++i) {
    std::byte* const shard = at + kShardsAt + i * kShardSize;
    store(shard, totals.shards[i].bytes);
    store(shard + 8, totals.shards[i].entries);
    store(shard + 12, std::uint32_t{totals.shards[i].is_known});
  }
  store(at + kRecordCheckAt, totals_check(at));
}

bool decode_totals(BytesView bytes, Totals& totals) noexcept {
  totals = Totals{};
  if (bytes.size() != kTotalsSize) return false;
  const std::byte* const at = bytes.data();
  if (std::memcmp(at, kTotalsMark, sizeof kTotalsMark) != 0 ||
      load<std::uint32_t>(at + kTotalsVersionAt) != kTotalsVersion ||
      load<std::uint64_t>(at + kRecordCheckAt) != totals_check(at)) {
    return false;
  }
  const auto shard_number = [&](std::size_t where) {
    return std::min<std::uint32_t>(load<std::uint32_t>(at + where), kTotalsShards);
  };
  totals.fold_next = shard_number(kFoldNextAt);
  totals.folds = load<std::uint64_t>(at + kFoldsAt);
  totals.roll_next = shard_number(kRollNextAt) % kTotalsShards;
  totals.evict_next = shard_number(kEvictNextAt) % kTotalsShards;
  totals.rolled_at_unix_ns = load<std::int64_t>(at + kRolledAtAt);
  totals.sequence = load<std::uint64_t>(at + kSequenceAt);
  for (std::size_t i = 0; i < kTotalsShards; ++i) {
    const std::byte* const shard = at + kShardsAt + i * kShardSize;
    totals.shards[i].bytes = load<std::uint64_t>(shard);
    totals.shards[i].entries = load<std::uint32_t>(shard + 8);
    totals.shards[i].is_known = load<std::uint32_t>(shard + 12) != 0;
  }
  return true;
}

}  // namespace larder::format
