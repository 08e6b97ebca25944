#include "cache/texts.hpp"

#include <algorithm>

#include "recipe/canonical.hpp"

namespace larder {
namespace {

bool is_text_of(const Ingredient& ingredient, const Text& text) {
  if (ingredient.name != text.name || ingredient.size != text.text.size()) return false;
  const canonical::Digest digest = canonical::digest_of(as_bytes(text.text));
  return std::ranges::equal(ingredient.bytes, std::as_bytes(std::span(digest)));
}

}  // namespace

std::vector<format::Text> texts_to_keep(const Recipe& recipe, std::span<const Text> texts,
                                        std::uint64_t bytes_max) {
  std::vector<format::Text> kept;
  if (texts.empty()) return kept;
  for (const Ingredient& ingredient : recipe.ingredients()) {
    if (bytes_max == 0) break;
    if (!ingredient.is_digest) continue;
    const auto text =
        std::ranges::find_if(texts, [&](const Text& each) { return is_text_of(ingredient, each); });
    if (text == texts.end()) continue;
    const std::string_view beginning = text->text.substr(0, bytes_max);
    kept.push_back({std::string(text->name), std::string(beginning), text->text.size()});
    bytes_max -= beginning.size();
  }
  return kept;
}

}  // namespace larder
