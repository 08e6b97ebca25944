#include "memory/family.hpp"

#include <utility>

#include "base/mutex.hpp"

namespace larder::detail {
namespace {

constinit Mutex links_mutex;

void unlink(Record& child) noexcept REQUIRES(links_mutex) {
  Family& family = child.family;
  if (family.parent == nullptr) return;
  (family.previous != nullptr ? family.previous->family.next : family.parent->family.first_child) =
      family.next;
  if (family.next != nullptr) family.next->family.previous = family.previous;
  family.parent = family.previous = family.next = nullptr;
}

}  // namespace

bool join_family(Record& record, Record* parent) noexcept {
  MutexLock lock(links_mutex);
  if (parent != nullptr) {
    if (!parent->family.may_adopt || parent == &record) return false;
    record.family.parent = parent;
    record.family.next = std::exchange(parent->family.first_child, &record);
    if (record.family.next != nullptr) record.family.next->family.previous = &record;
  }
  record.family.may_adopt = true;
  return true;
}

Record* leave_family(Record& record) noexcept {
  MutexLock lock(links_mutex);
  record.family.may_adopt = false;
  unlink(record);
  Record* doomed = nullptr;
  while (Record* child = record.family.first_child) {
    unlink(*child);
    if (std::exchange(child->family.is_doomed, true)) continue;
    // Its product is kept, so it has not left: a claim may be added without its core's mutex.
    child->claims.fetch_add(1, std::memory_order_relaxed);
    child->family.next_doomed = std::exchange(doomed, child);
  }
  return doomed;
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
