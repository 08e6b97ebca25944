// Removing: one entry, or all that a selector means, from every tier at once.
#include "cache/cache_core.hpp"
#include "cache/selected.hpp"

namespace larder {
namespace {

bool means_all(const Selector& selector) {
  return selector.kind.empty() && selector.program.empty() && selector.path.empty() && !selector.matches &&
         !selector.older_than;
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

// Recipes say what somebody worked on: those of misses go with the entries.
void CacheCore::forget_notes(const Selector& selector, const Selected& selected) {
  const Notes notes = store_->notes();
  if (means_all(selector)) {
    clear_misses(notes);
    clear_start_order(notes, *settings_.values.program);
    order_.clear();
    return;
  }
  clear_misses(notes, [&](const Miss& miss) { return selected.is(miss); });
}

Cleared CacheCore::clear(const Selector& selector) {
  Cleared cleared{.bundle_entries = bundles_.entries()};
  // What is unused for less than no time is nothing: taken for everything it could destroy what was not
  // meant.
  if (selector.older_than && selector.older_than->count() < 0) return cleared;
  clearings_.fetch_add(1, std::memory_order_acq_rel);
  negatives_.clear();
  // What is in memory can be read again; telling the selected apart there is not worth a walk.
  memory_.clear();
  {
    const MutexLock lock(notes_mutex_);
    misses_.clear();
  }
  if (store_ == nullptr) return cleared;
  const Selected selected(selector, store_->notes(), clock_.unix_ns());
  if (!selector.older_than) {
    writes_->drop([&](const PendingWrite& each) { return selected.is_recipe(each.recipe.canonical()); });
  }
  forget_notes(selector, selected);
  if (const MutexLock lock(preload_mutex_); preload_ != nullptr) preload_->stop();
  memory_.clear();
  if (!selector.program.empty()) clear_start_order(store_->notes(), selector.program);
  store_->for_each_key([&](const Key& key) {
    if (!selected.may_be(key)) return true;
    EntryInfo info;
    const Reason reason = store_->glance(key, info);
    if (!selected.is_by_key() && (reason != Reason::none || !selected.is(info))) return true;
    if (store_->erase(key)) {
      ++cleared.entries;
      cleared.bytes += info.file_bytes;
    }
    return true;
  });
  if (means_all(selector)) store_->forget_damaged();
  return cleared;
}

}  // namespace larder
