// Any bytes given as a journal, a shard's index or totals: nothing but sound records comes out, and they go
// in again.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "format/index.hpp"

namespace {

using namespace larder;

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  const format::IndexRecords decoded = format::decode_index_records(bytes);
  check(decoded.records.size() <= size / format::kIndexRecordSize);
  for (const format::IndexRecord& record : decoded.records) {
    const auto again = format::decode_index_record(format::encode_index_record(record));
    check(again && again->key == record.key && again->bytes == record.bytes && again->uses == record.uses);
  }
  format::Totals totals;
  format::TotalsBytes whole{};
  std::memcpy(whole.data(), data, std::min(size, whole.size()));
  if (format::decode_totals(size == whole.size() ? bytes : BytesView(whole), totals)) {
    check(totals.fold_next <= format::kTotalsShards && totals.evict_next < format::kTotalsShards);
    format::encode_totals(totals, whole);
    format::Totals back;
    check(format::decode_totals(whole, back) && back.folds == totals.folds);
  }
  return 0;
}
