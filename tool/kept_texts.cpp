#include "tool/kept_texts.hpp"

#include <algorithm>

namespace larder::tool {

void KeptTexts::add(std::string_view attachment) {
  for (format::Text& text : format::texts_of(as_bytes(attachment), kSizeMax)) {
    Known known{std::move(text), {}};
    if (known.text.is_whole()) known.digest = canonical::digest_of(as_bytes(known.text.text));
    known_.push_back(std::move(known));
  }
}

const format::Text* KeptTexts::of(const Ingredient& ingredient) const noexcept {
  if (!ingredient.is_digest) return nullptr;
  const auto is_its_text = [&](const Known& one) {
    if (one.text.is_whole()) {
      return std::ranges::equal(ingredient.bytes, std::as_bytes(std::span(one.digest)));
    }
    return one.text.name == ingredient.name && one.text.size == ingredient.size;
  };
  const auto found = std::ranges::find_if(known_, is_its_text);
  return found == known_.end() ? nullptr : &found->text;
}

}  // namespace larder::tool
