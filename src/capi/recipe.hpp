// Recipes at the border of the C ABI.
#pragma once

#include "capi/convert.hpp"
#include "larder/c/recipe.h"
#include "larder/recipe.hpp"

struct larder_recipe {
  larder::Recipe recipe;
};

namespace larder::capi {

inline larder_ingredient to_c(const Ingredient& one) noexcept {
  return {to_view(one.name), to_view(one.bytes), one.size, one.is_digest};
}
inline larder_key to_c(const Key& key) noexcept {
  return {key.high, key.low};
}

}  // namespace larder::capi
