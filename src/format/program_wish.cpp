#include "format/program_wish.hpp"

#include <array>

#include "format/program_product.hpp"

namespace larder::format {
namespace {

constexpr std::array<std::string_view, 4> kParts = {"platform", "folder", "text", "options"};
constexpr std::string_view kKey = "key";
constexpr std::size_t kKeyDigits = 32;

}  // namespace

bool is_wish_name(std::string_view name) noexcept {
  return name.size() == kKeyDigits && name.find_first_not_of("0123456789abcdef") == name.npos;
}

std::string encode_program_wish(const ProgramWish& wish) {
  ProgramProductView product;
  const std::array<std::string_view, 4> contents = {wish.platform, wish.folder, wish.text, wish.options};
  for (std::size_t i = 0; i < kParts.size(); ++i)
    product.pieces.push_back({kParts[i], as_bytes(contents[i])});
  for (const std::string_view key : wish.keys) product.pieces.push_back({kKey, as_bytes(key)});
  return encode_program_product(product);
}

std::optional<ProgramWish> decode_program_wish(BytesView bytes) {
  const auto product = decode_program_product(bytes);
  if (!product || product->is_failure || product->code != 0 || !product->log.empty()) return std::nullopt;
  const auto& pieces = product->pieces;
  if (pieces.size() <= kParts.size() || pieces.size() > kParts.size() + kWishKeysMax) return std::nullopt;
  ProgramWish wish;
  const std::array<std::string_view*, 4> contents = {&wish.platform, &wish.folder, &wish.text, &wish.options};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const bool is_key = i >= kParts.size();
    if (pieces[i].name != (is_key ? kKey : kParts[i])) return std::nullopt;
    const std::string_view content = as_text(pieces[i].bytes);
    if (!is_key) {
      *contents[i] = content;
    } else if (is_wish_name(content)) {
      wish.keys.push_back(content);
    } else {
      return std::nullopt;
    }
  }
  return wish;
}

}  // namespace larder::format
