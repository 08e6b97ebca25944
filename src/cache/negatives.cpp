#include "cache/negatives.hpp"

#include <iterator>

namespace larder {
namespace {

bool repeats(Code code) noexcept {
  return code != Code::transient && code != Code::out_of_resources;
}

}  // namespace

void Negatives::erase(const Key& key) {
  if (const auto found = by_key_.find(key); found != by_key_.end()) {
    failures_.erase(found->second);
    by_key_.erase(found);
  }
}

void Negatives::remember(const Recipe& recipe, const Key& key, const Error& error) {
  if (time_ <= std::chrono::nanoseconds{0} || !repeats(error.code)) return;
  MutexLock lock(mutex_);
  erase(key);
  if (failures_.size() == kMax) erase(Key(failures_.front().key));
  failures_.push_back({recipe, key, error, clock_.steady() + time_});
  by_key_.emplace(key, std::prev(failures_.end()));
}

std::optional<Error> Negatives::find(const Recipe& recipe, const Key& key) {
  if (time_ <= std::chrono::nanoseconds{0}) return std::nullopt;
  MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end() || found->second->recipe != recipe) return std::nullopt;
  if (found->second->until <= clock_.steady()) {
    erase(key);
    return std::nullopt;
  }
  return found->second->error;
}

void Negatives::forget(const Recipe& recipe, const Key& key) {
  MutexLock lock(mutex_);
  const auto found = by_key_.find(key);
  if (found != by_key_.end() && found->second->recipe == recipe) erase(key);
}

void Negatives::clear() {
  MutexLock lock(mutex_);
  by_key_.clear();
  failures_.clear();
}

}  // namespace larder
