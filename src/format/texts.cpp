#include "format/texts.hpp"

#include <algorithm>
#include <limits>

#include "base/compression.hpp"
#include "format/little_endian.hpp"

namespace larder::format {
namespace {

constexpr std::size_t kTextHeaderSize = 1 + 4 + 3 * 8;
constexpr std::uint8_t kPlain = 0;
constexpr std::uint8_t kPacked = 1;

// One text as it stands in the attachment.
struct Stored {
  std::uint8_t form = kPlain;
  std::string_view name;
  std::uint64_t size = 0;
  std::uint64_t kept_size = 0;
  BytesView bytes;
};

// Takes a text from the front of `rest`; false when there is none that holds together.
bool take(BytesView& rest, Stored& one) noexcept {
  if (rest.size() < kTextHeaderSize) return false;
  one.form = load<std::uint8_t>(rest.data());
  const std::uint64_t name_size = load<std::uint32_t>(rest.data() + 1);
  one.size = load<std::uint64_t>(rest.data() + 5);
  one.kept_size = load<std::uint64_t>(rest.data() + 13);
  const auto stored_size = load<std::uint64_t>(rest.data() + 21);
  rest = rest.subspan(kTextHeaderSize);
  if (one.form > kPacked || one.kept_size > one.size) return false;
  if (one.form == kPlain && stored_size != one.kept_size) return false;
  if (name_size > rest.size() || stored_size > rest.size() - name_size) return false;
  one.name = as_text(rest.first(name_size));
  one.bytes = rest.subspan(name_size, stored_size);
  rest = rest.subspan(name_size + stored_size);
  return true;
}

// Nothing when it cannot be unpacked within `size_left`: nothing is allocated beyond that. What was tried is
// taken off, so that many texts that lie about their size cost no more than one.
std::optional<Text> unpack(const Stored& one, std::uint64_t& size_left) {
  if (one.kept_size > size_left) return std::nullopt;
  size_left -= one.kept_size;
  if (one.form == kPlain) return Text{std::string(one.name), std::string(as_text(one.bytes)), one.size};
  std::string text(one.kept_size, '\0');
  if (!decompress(one.bytes, std::as_writable_bytes(std::span(text)))) return std::nullopt;
  return Text{std::string(one.name), std::move(text), one.size};
}

// Calls `visit` for each text until it returns false.
template <typename Visit>
void for_each_stored(BytesView attachment, Visit&& visit) {
  if (attachment.empty() || load<std::uint8_t>(attachment.data()) != kTextsVersion) return;
  BytesView rest = attachment.subspan(1);
  Stored one;
  for (std::size_t i = 0; i < kTextsMax && take(rest, one) && visit(one); ++i) continue;
}

}  // namespace

std::string encode_texts(std::span<const Text> texts) {
  std::string attachment;
  for (const Text& text : texts.first(std::min(texts.size(), kTextsMax))) {
    if (text.name.size() > std::numeric_limits<std::uint32_t>::max()) continue;
    const std::optional<std::string> packed = compress(as_bytes(text.text));
    const std::string& stored = packed ? *packed : text.text;
    if (attachment.empty()) attachment.push_back(static_cast<char>(kTextsVersion));
    const std::size_t at = attachment.size();
    attachment.resize(at + kTextHeaderSize);
    auto* const header = reinterpret_cast<std::byte*>(attachment.data() + at);
    store(header, packed ? kPacked : kPlain);
    store(header + 1, static_cast<std::uint32_t>(text.name.size()));
    store(header + 5, text.size);
    store(header + 13, std::uint64_t{text.text.size()});
    store(header + 21, std::uint64_t{stored.size()});
    attachment += text.name;
    attachment += stored;
  }
  return attachment;
}

std::vector<Text> texts_of(BytesView attachment, std::uint64_t size_max) {
  std::vector<Text> texts;
  for_each_stored(attachment, [&](const Stored& one) {
    if (std::optional<Text> text = unpack(one, size_max)) texts.push_back(std::move(*text));
    return true;
  });
  return texts;
}

std::optional<Text> text_of(BytesView attachment, std::string_view name, std::uint64_t size_max) {
  std::optional<Text> found;
  for_each_stored(attachment, [&](const Stored& one) {
    if (one.name != name) return true;
    found = unpack(one, size_max);
    return false;
  });
  return found;
}

}  // namespace larder::format
