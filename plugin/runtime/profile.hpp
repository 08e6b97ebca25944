// What a profiling run (`larder cc --profile-reuse`) counts per function, and the file that it leaves behind.
#pragma once

#include "table.hpp"

namespace larder::reuse {

// True when the table only counts; its calls then go to the functions below.
bool prepare_counts(Table& table, Place& place) noexcept;
int count_call(Table& table, uint64_t hash, const uint64_t* key, uint64_t* value) noexcept;
void count_result(Table& table) noexcept;
// Adds a table's counts to those of its function, once. The list of threads is locked; where another thread
// still counts, what it counts meanwhile is lost.
void merge_counts(Table& table) noexcept;
// Nothing has been counted: in a forked child.
void begin_counts(Table& table) noexcept;
void drop_merged_counts() noexcept;
// Appends what is known of `site` to the file that LARDER_REUSE_PROFILE names (default larder-reuse.profile),
// if anything is. The list of threads is locked.
void write_profile(const Site* site) noexcept;

}  // namespace larder::reuse
