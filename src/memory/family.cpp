#include "memory/family.hpp"

#include <utility>

#include "base/mutex.hpp"

namespace larder::detail {
namespace {

constinit Mutex links_mutex;

// Its place among its parent's children is free; it has a parent still.
void unlink(Record& child) noexcept REQUIRES(links_mutex) {
  Family& family = child.family;
  Record* const parent = family.parent.load(std::memory_order_relaxed);
  if (family.previous != nullptr)
    family.previous->family.next = family.next;
  else
    parent->family.first_child.store(family.next, std::memory_order_release);
  if (family.next != nullptr) family.next->family.previous = family.previous;
  family.previous = family.next = nullptr;
}

// Those whose parent leaves, in a chain; what somebody else has doomed goes with that.
Record* doom(Record* first) noexcept REQUIRES(links_mutex) {
  Record* doomed = nullptr;
  for (Record* child = first; child != nullptr;) {
    Family& family = child->family;
    Record* const next = std::exchange(family.next, nullptr);
    family.previous = nullptr;
    if (!std::exchange(family.is_doomed, true)) {
      // Its product is kept, so it has not left: a claim may be added without its core's mutex.
      child->claims.fetch_add(1, std::memory_order_relaxed);
      family.next_doomed = std::exchange(doomed, child);
    }
    family.parent.store(nullptr, std::memory_order_release);  // now it may leave without the mutex
    child = next;
  }
  return doomed;
}

}  // namespace

bool join_family(Record& record, Record* parent) noexcept {
  Family& family = record.family;
  if (parent != nullptr) {
    MutexLock lock(links_mutex);
    if (parent == &record) return false;
    std::atomic<Record*>& first = parent->family.first_child;
    Record* const next = first.load(std::memory_order_acquire);
    // A parent that has no child leaves without the mutex.
    Record* expected = next;
    if (next == Family::closed() ||
        !first.compare_exchange_strong(expected, &record, std::memory_order_acq_rel))
      return false;
    family.parent.store(parent, std::memory_order_relaxed);
    family.next = next;
    if (next != nullptr) next->family.previous = &record;
  }
  family.first_child.store(nullptr, std::memory_order_release);
  return true;
}

Record* leave_family(Record& record) noexcept {
  Family& family = record.family;
  Record* childless = nullptr;
  if (family.parent.load(std::memory_order_acquire) == nullptr &&
      family.first_child.compare_exchange_strong(childless, Family::closed(), std::memory_order_acq_rel)) {
    return nullptr;
  }
  MutexLock lock(links_mutex);
  Record* const children = family.first_child.exchange(Family::closed(), std::memory_order_acq_rel);
  if (family.parent.load(std::memory_order_relaxed) != nullptr) {
    unlink(record);
    family.parent.store(nullptr, std::memory_order_relaxed);
  }
  return doom(children);
}

Record* end_doom(Record& record) noexcept {
  MutexLock lock(links_mutex);
  record.family.is_doomed = false;
  return std::exchange(record.family.next_doomed, nullptr);
}

void lock_families() noexcept NO_THREAD_SAFETY_ANALYSIS {
  links_mutex.lock();
}
void unlock_families() noexcept NO_THREAD_SAFETY_ANALYSIS {
  links_mutex.unlock();
}

}  // namespace larder::detail
