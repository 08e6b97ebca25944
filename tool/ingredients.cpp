#include "tool/ingredients.hpp"

#include "recipe/readable.hpp"

namespace larder::tool {

std::string hex_of(BytesView bytes, std::size_t most) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte one : bytes.first(std::min(most, bytes.size()))) {
    text.push_back(kDigits[static_cast<unsigned>(one) >> 4]);
    text.push_back(kDigits[static_cast<unsigned>(one) & 15]);
  }
  return bytes.size() > most ? text + "..." : text;
}

void write_ingredient(Json& json, const Ingredient& ingredient) {
  json.begin_object().member("name", ingredient.name).member("size_bytes", ingredient.size);
  if (ingredient.is_digest) {
    json.member("digest", hex_of(ingredient.bytes, ingredient.bytes.size()));
  } else if (is_readable(ingredient.bytes)) {
    json.member("text", as_text(ingredient.bytes));
  } else {
    json.member("hex", hex_of(ingredient.bytes, ingredient.bytes.size()));
  }
  json.end_object();
}

}  // namespace larder::tool
