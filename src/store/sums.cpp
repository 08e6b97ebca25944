#include "store/sums.hpp"

namespace larder {
namespace {

using format::IndexEvent;

// How often the three files are read when a fold comes in between.
constexpr int kReadingsMax = 4;

void add(Sums& sums, const Journal::News& news, unsigned first_shard) noexcept {
  for (const format::IndexRecord& record : news.records) {
    if (layout::shard_of(record.key) < first_shard) continue;
    if (record.event == IndexEvent::stored) {
      sums.bytes += record.bytes;
      ++sums.entries;
    } else if (record.event == IndexEvent::gone) {
      sums.gone_bytes += record.bytes;
      ++sums.gone_entries;
    }
  }
}

}  // namespace

// News go from the journal to journal.old and from there to the totals. Read in the same order, none can be
// missed; one that moved meanwhile is seen twice, and then all is read again.
Sums read_sums(Index& index) noexcept {
  for (int round = 1;; ++round) {
    format::Totals before;
    format::Totals totals;
    index.read_totals(before);
    const Journal::News later = index.journal().read();
    const Journal::News earlier = index.journal().read_folding();
    index.read_totals(totals);
    const bool is_one_moment =
        before.folds == totals.folds && (earlier.inode == 0 || earlier.inode != later.inode);
    if (!is_one_moment && round < kReadingsMax) continue;

    Sums sums;
    sums.is_exact = later.size <= Journal::kSizeMax && earlier.size <= Journal::kSizeMax &&
                    !later.is_unread && !earlier.is_unread;
    for (const format::ShardTotal& shard : totals.shards) {
      sums.bytes += shard.bytes;
      sums.entries += shard.entries;
      sums.is_exact = sums.is_exact && shard.is_known;
    }
    add(sums, earlier, totals.fold_next);
    add(sums, later, 0);
    sums.is_folding = earlier.inode != 0;
    sums.journal_size = later.size;
    sums.rolled_at_unix_ns = totals.rolled_at_unix_ns;
    return sums;
  }
}

}  // namespace larder
