// Families link products that must leave with another: kernels with their program. Parent and child may
// belong to different tiers, so one mutex of the process guards all links. It is taken under a core's mutex,
// never before.
#pragma once

#include "memory/record.hpp"

namespace larder::detail {

// The product of `record` is kept from now on, as a child of `parent` unless that is null. False, and nothing
// done: the parent is not kept.
bool join_family(Record& record, Record* parent) noexcept;

// The product of `record` is kept no longer. Returns its children, chained through family.next_doomed, each
// with a claim added; those that somebody else is about to evict are not among them.
Record* leave_family(Record& record) noexcept;

// From now on the record may be doomed anew. Returns the next in its chain. Before its claim is dropped.
Record* end_doom(Record& record) noexcept;

// For the fork handlers.
void lock_families() noexcept;
void unlock_families() noexcept;

}  // namespace larder::detail
