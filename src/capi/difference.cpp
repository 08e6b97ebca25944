#include "larder/difference.hpp"

#include "capi/recipe.hpp"
#include "larder/c/difference.h"

using namespace larder;

struct larder_difference {
  Difference difference;
};

struct larder_nearest {
  Nearest nearest;
};

static_assert(LARDER_CHANGE_ADDED == static_cast<int>(Change::added));
static_assert(LARDER_CHANGE_MOVED == static_cast<int>(Change::moved));
static_assert(LARDER_NO_PLACE == kNoPlace);

larder_difference* larder_difference_create(const larder_recipe* before, const larder_recipe* after,
                                            larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_difference*> {
    return new larder_difference{difference(before->recipe, after->recipe)};
  });
}

void larder_difference_destroy(larder_difference* difference) {
  delete difference;
}

bool larder_difference_is_empty(const larder_difference* difference) {
  return difference->difference.is_empty();
}

size_t larder_difference_change_count(const larder_difference* difference) {
  return difference->difference.changes.size();
}

bool larder_difference_change(const larder_difference* difference, size_t place, larder_change* change) {
  if (place >= difference->difference.changes.size()) return false;
  const IngredientChange& one = difference->difference.changes[place];
  *change = {static_cast<larder_change_kind>(one.change), one.place_before, one.place_after,
             capi::to_c(one.before), capi::to_c(one.after)};
  return true;
}

larder_bytes* larder_difference_text(const larder_difference* difference, size_t size_max,
                                     larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_bytes*> {
    DifferenceTextOptions options;
    if (size_max != 0) options.size_max = size_max;
    return capi::new_bytes(to_text(difference->difference, options));
  });
}

const char* larder_change_name(larder_change_kind kind) {
  return capi::name_of<Change>(kind);
}

larder_nearest* larder_nearest_create(const larder_recipe* wanted, larder_error** error) {
  return capi::guarded(
      error, [&]() -> Result<larder_nearest*> { return new larder_nearest{Nearest(wanted->recipe)}; });
}

void larder_nearest_destroy(larder_nearest* nearest) {
  delete nearest;
}

bool larder_nearest_offer(larder_nearest* nearest, const larder_recipe* candidate, uint64_t id,
                          bool* is_looked_at, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<bool> {
    const bool is_taken = nearest->nearest.offer(candidate->recipe, id);
    if (is_looked_at != nullptr) *is_looked_at = is_taken;
    return true;
  });
}

larder_recipe* larder_nearest_found(const larder_nearest* nearest, uint64_t* id, larder_error** error) {
  return capi::guarded(error, [&]() -> Result<larder_recipe*> {
    auto found = nearest->nearest.found();
    if (!found) return fail(Code::not_found, "nearest: no candidate was offered");
    if (id != nullptr) *id = found->id;
    return new larder_recipe{std::move(found->recipe)};
  });
}
