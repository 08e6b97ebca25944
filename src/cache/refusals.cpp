#include "cache/refusals.hpp"

namespace larder {

bool Refusals::remember(const Key& key, Reason why) {
  MutexLock lock(mutex_);
  if (!reasons_.emplace(key, why).second) return false;
  oldest_first_.push_back(key);
  while (oldest_first_.size() > kMax) {
    reasons_.erase(oldest_first_.front());
    oldest_first_.pop_front();
  }
  return true;
}

void Refusals::forget(const Key& key) {
  MutexLock lock(mutex_);
  reasons_.erase(key);
}

Reason Refusals::find(const Key& key) const {
  MutexLock lock(mutex_);
  const auto found = reasons_.find(key);
  return found == reasons_.end() ? Reason::none : found->second;
}

}  // namespace larder
