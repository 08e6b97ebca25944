// Recipes for the tests of this floor.
#pragma once

#include <string>
#include <string_view>

#include "larder/recipe.hpp"

namespace larder::testing {

inline Recipe named(std::string_view name) {
  return Recipe("test").add("name", name);
}

inline Recipe numbered(int number) {
  return Recipe("test").add("number", std::to_string(number));
}

}  // namespace larder::testing
