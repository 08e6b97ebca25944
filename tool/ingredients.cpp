#include "tool/ingredients.hpp"

#include "recipe/readable.hpp"

namespace larder::tool {

std::string_view beginning(std::string_view text, std::size_t most) noexcept {
  if (text.size() <= most) return text;
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  while (most > 0 && is_inside(text[most])) --most;
  return text.substr(0, most);
}

std::string hex_of(BytesView bytes, std::size_t most) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte one : bytes.first(std::min(most, bytes.size()))) {
    text.push_back(kDigits[static_cast<unsigned>(one) >> 4]);
    text.push_back(kDigits[static_cast<unsigned>(one) & 15]);
  }
  return bytes.size() > most ? text + "..." : text;
}

void write_ingredient(Json& json, const Ingredient& ingredient, const format::Text* kept,
                      std::size_t kept_max) {
  json.begin_object().member("name", ingredient.name).member("size_bytes", ingredient.size);
  if (ingredient.is_digest) {
    json.member("digest", hex_of(ingredient.bytes, ingredient.bytes.size()));
    if (kept != nullptr) {
      const std::string_view text = beginning(kept->text, kept_max);
      json.member("kept_bytes", kept->text.size());
      is_readable(as_bytes(text)) ? json.member("text", text)
                                  : json.member("hex", hex_of(as_bytes(text), text.size()));
    }
  } else if (is_readable(ingredient.bytes)) {
    json.member("text", as_text(ingredient.bytes));
  } else {
    json.member("hex", hex_of(ingredient.bytes, ingredient.bytes.size()));
  }
  json.end_object();
}

}  // namespace larder::tool
