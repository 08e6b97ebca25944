// Removing: one entry, or all that a selector means, from every tier at once.
#include <algorithm>
#include <unordered_set>

#include "cache/cache_core.hpp"
#include "recipe/canonical.hpp"

namespace larder {
namespace {

// Whether `text` is `path` or names something below it.
bool is_at(std::string_view text, std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (!text.starts_with(path)) return false;
  return text.size() == path.size() || path == "/" || text[path.size()] == '/';
}

bool names(const Recipe& recipe, std::string_view path) {
  const std::vector<Ingredient> all = recipe.ingredients();
  return std::any_of(all.begin(), all.end(), [&](const Ingredient& each) {
    return !each.is_digest && is_at(as_text(each.bytes), path);
  });
}

bool means_all(const Selector& selector) {
  return selector.kind.empty() && selector.program.empty() && selector.path.empty() && !selector.matches &&
         !selector.older_than;
}

// Of kind, path and predicate.
bool is_selected(const Selector& selector, std::string_view canonical) {
  if (!selector.kind.empty()) {
    std::string_view kind;
    if (!canonical::Reader(canonical).read_kind(kind) || kind != selector.kind) return false;
  }
  if (selector.matches || !selector.path.empty()) {
    const auto recipe = Recipe::from_canonical(canonical);
    if (!recipe) return false;
    if (!selector.path.empty() && !names(*recipe, selector.path)) return false;
    if (selector.matches && !selector.matches(*recipe)) return false;
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

// Recipes say what somebody worked on: those of misses go with the entries.
void CacheCore::forget_notes(const Selector& selector) {
  const Notes notes = store_->notes();
  if (means_all(selector)) {
    clear_misses(notes);
    clear_start_order(notes, *settings_.values.program);
    order_.clear();
    return;
  }
  const auto now = clock_.unix_ns();
  clear_misses(notes, [&](const Miss& miss) {
    if (!selector.program.empty() && miss.program != selector.program) return false;
    if (selector.older_than && now - miss.at_unix_ns < selector.older_than->count()) return false;
    return is_selected(selector, miss.recipe.canonical());
  });
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
  forget_notes(selector);
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
    const bool everything =
        selector.kind.empty() && selector.path.empty() && !selector.matches && !selector.older_than;
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
