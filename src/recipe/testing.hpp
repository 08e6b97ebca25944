// Recipes for the tests of this floor.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "larder/recipe.hpp"

namespace larder::testing {

// Names and texts.
using Named = std::vector<std::pair<std::string, std::string>>;

inline Recipe recipe_of(std::string_view kind, const Named& ingredients) {
  Recipe recipe(kind);
  for (const auto& [name, text] : ingredients) recipe.add(name, text);
  return recipe;
}

}  // namespace larder::testing
