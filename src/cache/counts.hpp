// Counts are the counters and histograms of every process that used a store, kept in its notes: each process
// appends what it counted since it last did, and now and then one of them folds what has gathered into a sum.
// No lock is waited for; what a crash takes is at most what one process counted in its last ten seconds (one,
// in its first).
//
//   counts, counts.old, counts.sum := frame*, each with the payload
//   payload    := version at totals histograms
//   version    := u8 = 1
//   at         := i64: nanoseconds since 1970 when it was written
//   totals     := u64 * CounterTotals::kWords (larder/counters.hpp)
//   histograms := events/histogram_set.hpp, to the end
//
// counts.sum holds one frame more, of 8 bytes: the check of the counts.old that was folded in last, so that a
// crash between writing the sum and removing the old counts counts nothing twice.
#pragma once

#include <memory>

#include "events/histogram_set.hpp"
#include "larder/counters.hpp"
#include "store/notes.hpp"

namespace larder {

struct Counts {
  CounterTotals totals;
  std::unique_ptr<HistogramSet> histograms;
  std::int64_t since_unix_ns = 0;  // the earliest written; 0: nothing was counted
};

// Adds `totals` and `histograms` to the store's counts. False: lost; keep them for the next time.
bool add_counts(const Notes& notes, const CounterTotals& totals, const HistogramSet& histograms,
                std::int64_t now);

// All that was counted in this store. O(processes since the last fold).
Counts read_counts(const Notes& notes);

// Folds what has gathered. Cheap when there is nothing to do.
void fold_counts(const Notes& notes, std::int64_t now);

void clear_counts(const Notes& notes);

}  // namespace larder
