#include "recipe/canonical.hpp"

#include <sodium/crypto_generichash_blake2b.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <stdexcept>

namespace larder::canonical {
namespace {

enum class Form : std::uint8_t { itself = 0, digest = 1 };

template <typename Integer>
Integer little_endian(Integer value) noexcept {
  if constexpr (std::endian::native == std::endian::big && sizeof(Integer) > 1) {
    Integer swapped = 0;
    for (std::size_t i = 0; i < sizeof(Integer); ++i) {
      swapped = static_cast<Integer>((swapped << 8) | ((value >> (8 * i)) & 0xff));
    }
    return swapped;
  }
  return value;
}

template <typename Integer>
void append(std::string& out, Integer value) {
  value = little_endian(value);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A long source is mostly followed by some short options: those should not make it move again.
constexpr std::size_t kRoomForShortOnes = 256;

// Lets `write` append at most `size` bytes, all or (when memory is out) none. What it appends may be a view
// of `canonical` itself, which therefore stays where it is until `write` is done.
template <typename Write>
void extend(std::string& canonical, std::size_t size, Write write) {
  const std::size_t needed = canonical.size() + size;
  if (needed <= canonical.capacity()) return write(canonical);
  std::string grown;
  grown.reserve(std::max(needed + kRoomForShortOnes, 2 * canonical.capacity()));
  grown.append(canonical);
  write(grown);
  canonical.swap(grown);
}

std::uint32_t encoded_size(std::string_view name) {
  if (name.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("recipe: a name of 4 GiB or more");
  }
  return static_cast<std::uint32_t>(name.size());
}

}  // namespace

void append_kind(std::string& canonical, std::string_view kind) {
  const std::uint32_t kind_size = encoded_size(kind);
  extend(canonical, sizeof kVersion + sizeof kind_size + kind.size(), [&](std::string& out) {
    append(out, kVersion);
    append(out, kind_size);
    out.append(kind);
  });
}

void append_ingredient(std::string& canonical, std::string_view name, BytesView bytes) {
  const bool as_digest = bytes.size() > kIngredientInlineMax;
  const std::uint32_t name_size = encoded_size(name);
  const std::size_t content_size = as_digest ? kDigestSize : bytes.size();
  const std::size_t size =
      sizeof(Form) + sizeof name_size + sizeof(std::uint64_t) + name.size() + content_size;
  extend(canonical, size, [&](std::string& out) {
    append(out, static_cast<std::uint8_t>(as_digest ? Form::digest : Form::itself));
    append(out, name_size);
    append(out, static_cast<std::uint64_t>(bytes.size()));
    out.append(name);
    if (as_digest) {
      const Digest digest = digest_of(bytes);
      out.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    } else {
      out.append(as_text(bytes));
    }
  });
}

Digest digest_of(BytesView bytes) noexcept {
  Digest digest;
  crypto_generichash_blake2b(digest.data(), digest.size(),
                             reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr, 0);
  return digest;
}

template <typename Integer>
bool Reader::read(Integer& value) noexcept {
  if (rest_.size() < sizeof value) return false;
  std::memcpy(&value, rest_.data(), sizeof value);
  value = little_endian(value);
  rest_.remove_prefix(sizeof value);
  return true;
}

bool Reader::read(std::string_view& field, std::uint64_t size) noexcept {
  if (rest_.size() < size) return false;
  field = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return true;
}

bool Reader::read_kind(std::string_view& kind) noexcept {
  std::uint8_t version = 0;
  std::uint32_t size = 0;
  return read(version) && version == kVersion && read(size) && read(kind, size);
}

bool Reader::read_ingredient(Ingredient& ingredient) noexcept {
  std::uint8_t form = 0;
  std::uint32_t name_size = 0;
  std::string_view content;
  if (!read(form) || form > static_cast<std::uint8_t>(Form::digest) || !read(name_size) ||
      !read(ingredient.size) || !read(ingredient.name, name_size)) {
    return false;
  }
  ingredient.is_digest = form == static_cast<std::uint8_t>(Form::digest);
  if (ingredient.is_digest != (ingredient.size > kIngredientInlineMax)) return false;
  if (!read(content, ingredient.is_digest ? kDigestSize : ingredient.size)) return false;
  ingredient.bytes = as_bytes(content);
  return true;
}

}  // namespace larder::canonical
