#include <cstdio>
#include <larder/recipe.hpp>

int main() {
  larder::Recipe recipe("greeting");
  recipe.add("language", "English");
  std::printf("%s %zu\n", recipe.key().hex().c_str(), recipe.ingredients().size());
  return recipe.ingredients().size() == 1 ? 0 : 1;
}
