// Negatives remember for a short time that making a product failed, so that a failure which would only repeat
// is answered at once, with the same message. Any thread may call. Bounded; nothing of it reaches the disk.
#pragma once

#include <chrono>
#include <list>
#include <optional>
#include <unordered_map>

#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "larder/recipe.hpp"
#include "larder/result.hpp"

namespace larder {

class Negatives {
 public:
  static constexpr std::size_t kMax = 1024;

  // Remembers each failure for `time`; 0: none.
  Negatives(std::chrono::nanoseconds time, const Clock& clock) : time_(time), clock_(clock) {}

  // Only failures that repeat: transient ones and want of resources are not taken.
  void remember(const Recipe& recipe, const Key& key, const Error& error);
  std::optional<Error> find(const Recipe& recipe, const Key& key);
  void forget(const Recipe& recipe, const Key& key);
  void clear();

  void before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  struct Failure {
    Recipe recipe;
    Key key;
    Error error;
    std::chrono::nanoseconds until;
  };
  struct HashKey {
    std::size_t operator()(const Key& key) const noexcept { return static_cast<std::size_t>(key.low); }
  };
  using Failures = std::list<Failure>;

  void erase(const Key& key) REQUIRES(mutex_);

  const std::chrono::nanoseconds time_;
  const Clock& clock_;
  Mutex mutex_;
  Failures failures_ GUARDED_BY(mutex_);  // oldest first
  std::unordered_map<Key, Failures::iterator, HashKey> by_key_ GUARDED_BY(mutex_);
};

}  // namespace larder
