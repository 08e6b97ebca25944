// Removing: one entry, or all that a selector means, from every tier at once.
#include <unordered_set>

#include "cache/cache_core.hpp"
#include "recipe/canonical.hpp"

namespace larder {
namespace {

bool is_selected(const Selector& selector, std::string_view canonical) {
  if (!selector.kind.empty()) {
    std::string_view kind;
    if (!canonical::Reader(canonical).read_kind(kind) || kind != selector.kind) return false;
  }
  if (selector.matches) {
    const auto recipe = Recipe::from_canonical(canonical);
    if (!recipe || !selector.matches(*recipe)) return false;
  }
  return true;
}

}  // namespace

bool CacheCore::forget_on_disk(const Recipe& recipe, const Key& key, Reason why) {
  std::size_t dropped = 0;
  if (writes_ != nullptr) {
    dropped =
        writes_->drop([&](const PendingWrite& each) { return each.key == key && each.recipe == recipe; });
  }
  const bool was_on_disk = store_ != nullptr && store_->erase(key, why);
  return was_on_disk || dropped != 0;
}

bool CacheCore::remove(const Recipe& recipe, Reason why) {
  const Key key = recipe.key();
  clearings_.fetch_add(1, std::memory_order_acq_rel);
  negatives_.forget(recipe, key);
  const bool was_on_disk = forget_on_disk(recipe, key, why);
  // Before it leaves memory, where nobody asks the bundles for it.
  const bool was_new = why != Reason::cleared && refusals_.remember(key, why);
  const bool was_in_bundle = was_new && bundles_.contains(key);
  const bool was_in_memory = memory_.erase(recipe);
  return was_in_memory || was_on_disk || was_in_bundle;
}

Cleared CacheCore::clear(const Selector& selector) {
  Cleared cleared{.bundle_entries = bundles_.entries()};
  clearings_.fetch_add(1, std::memory_order_acq_rel);
  negatives_.clear();
  // What is in memory can be read again; telling the selected apart there is not worth a walk.
  memory_.clear();
  {
    const MutexLock lock(notes_mutex_);
    misses_.clear();
  }
  if (writes_ != nullptr && !selector.older_than) {
    writes_->drop([&](const PendingWrite& each) { return is_selected(selector, each.recipe.canonical()); });
  }
  if (store_ == nullptr) return cleared;
  if (const MutexLock lock(preload_mutex_); preload_ != nullptr) preload_->stop();
  memory_.clear();
  std::unordered_set<std::string> of_program;
  if (!selector.program.empty()) {
    for (const FirstUse& use : read_start_order(store_->notes(), selector.program))
      of_program.insert(use.key.hex());
    clear_start_order(store_->notes(), selector.program);
  }
  const auto now = clock_.unix_ns();
  store_->for_each_key([&](const Key& key) {
    if (!selector.program.empty() && !of_program.contains(key.hex())) return true;
    EntryInfo info;
    const Reason reason = store_->inspect(key, info);
    const bool everything = selector.kind.empty() && !selector.matches && !selector.older_than;
    if (reason != Reason::none && !everything) return true;
    if (!everything) {
      if (selector.older_than && now - info.used_at_unix_ns < selector.older_than->count()) return true;
      if (!is_selected(selector, info.recipe)) return true;
    }
    if (store_->erase(key)) {
      ++cleared.entries;
      cleared.bytes += info.file_bytes;
    }
    return true;
  });
  return cleared;
}

}  // namespace larder
