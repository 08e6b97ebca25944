// Refusals remember which products were taken out because they were not wanted any more – a driver refused
// them, or making them anew gave something else – so that the next making can say so and bundles, where
// nothing can be removed, are not asked for them. Any thread may call. Bounded: of too many the oldest is
// forgotten, and costs being refused once more.
#pragma once

#include <deque>
#include <unordered_map>

#include "base/mutex.hpp"
#include "larder/event.hpp"
#include "larder/recipe.hpp"

namespace larder {

class Refusals {
 public:
  static constexpr std::size_t kMax = 65536;

  // False: it was remembered already.
  bool remember(const Key& key, Reason why);
  void forget(const Key& key);
  // none: not refused.
  Reason find(const Key& key) const;

  void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  struct HashKey {
    std::size_t operator()(const Key& key) const noexcept { return static_cast<std::size_t>(key.low); }
  };

  mutable Mutex mutex_;
  std::unordered_map<Key, Reason, HashKey> reasons_ GUARDED_BY(mutex_);
  std::deque<Key> oldest_first_ GUARDED_BY(mutex_);  // may hold some that were forgotten
};

}  // namespace larder
