#include "cache/selected.hpp"

#include <algorithm>

#include "cache/start_order.hpp"
#include "recipe/canonical.hpp"

namespace larder {
namespace {

// Whether `text` is `path` or names something below it.
bool is_at(std::string_view text, std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  if (!text.starts_with(path)) return false;
  return text.size() == path.size() || path == "/" || text[path.size()] == '/';
}

}  // namespace

bool names_path(const Recipe& recipe, std::string_view path) {
  const std::vector<Ingredient> all = recipe.ingredients();
  return std::any_of(all.begin(), all.end(), [&](const Ingredient& each) {
    return !each.is_digest && is_at(as_text(each.bytes), path);
  });
}

Selected::Selected(const Selector& selector, const Notes& notes, std::int64_t now)
    : selector_(selector), now_(now) {
  if (selector_.program.empty()) return;
  for (const FirstUse& use : read_start_order(notes, selector_.program)) of_program_.insert(use.key);
}

bool Selected::is_by_key() const noexcept {
  return selector_.kind.empty() && selector_.path.empty() && !selector_.matches && !selector_.older_than;
}

bool Selected::may_be(const Key& key) const {
  return selector_.program.empty() || of_program_.contains(key);
}

bool Selected::is_recipe(std::string_view canonical) const {
  if (!selector_.kind.empty()) {
    std::string_view kind;
    if (!canonical::Reader(canonical).read_kind(kind) || kind != selector_.kind) return false;
  }
  if (selector_.matches || !selector_.path.empty()) {
    const auto recipe = Recipe::from_canonical(canonical);
    if (!recipe) return false;
    if (!selector_.path.empty() && !names_path(*recipe, selector_.path)) return false;
    if (selector_.matches && !selector_.matches(*recipe)) return false;
  }
  return true;
}

bool Selected::is_old_enough(std::int64_t at_unix_ns) const noexcept {
  return !selector_.older_than || now_ - at_unix_ns >= selector_.older_than->count();
}

bool Selected::is(const EntryInfo& info) const {
  return may_be(info.key) && is_old_enough(info.used_at_unix_ns) && is_recipe(info.recipe);
}

bool Selected::is(const Miss& miss) const {
  if (!selector_.program.empty() && miss.program != selector_.program) return false;
  return is_old_enough(miss.at_unix_ns) && is_recipe(miss.recipe.canonical());
}

}  // namespace larder
