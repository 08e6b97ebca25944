// Any bytes given as canonical bytes: what is accepted is exactly what a Recipe writes, and can be shown.
#include <cstdint>
#include <cstdlib>

#include "larder/difference.hpp"
#include "larder/recipe.hpp"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

larder::Recipe made_again(const larder::Recipe& recipe) {
  larder::Recipe again(recipe.kind());
  for (const larder::Ingredient& one : recipe.ingredients()) again.add(one.name, one.bytes);
  return again;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Two recipes from one input, so that differences have something to tell: the first byte says where it is
  // cut.
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = input.empty() ? 0 : 1 + input.size() * static_cast<unsigned char>(input[0]) / 256;
  const auto a = larder::Recipe::from_canonical(input.substr(input.empty() ? 0 : 1, cut == 0 ? 0 : cut - 1));
  const auto b = larder::Recipe::from_canonical(input.substr(cut));
  for (const auto* recipe : {&a, &b}) {
    if (!*recipe) continue;
    bool has_digest = false;
    for (const larder::Ingredient& one : (*recipe)->ingredients()) has_digest |= one.is_digest;
    check(has_digest || made_again(**recipe) == **recipe);
  }
  if (!a || !b) return 0;
  const larder::Difference difference = larder::difference(*a, *b);
  check(difference.is_empty() == (*a == *b));
  larder::DifferenceTextOptions options;
  options.size_max = 2000;
  check(larder::to_text(difference, options).size() <= options.size_max);
  check(larder::nearest(*a, {&*b, 1}).has_value());
  return 0;
}
