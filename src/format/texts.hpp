// Texts are what large ingredients said, kept in an entry's attachment so that `show` and `why` can print it:
// the recipe holds only their digests. Encode and decode, no I/O. Any thread may call; any bytes may be
// given.
//
//   attachment := version text*            version := u8 = 1; no bytes at all: no texts
//   text       := form name_size size kept_size stored_size name stored
//   form       := u8: 0 = `stored` is the text, 1 = `stored` is a zstd frame of it
//   name_size  := u32; name: the ingredient's
//   size       := u64: length of the whole ingredient
//   kept_size  := u64: length of its beginning that is kept, at most `size`
//   stored_size := u64: length of `stored`; in form 0 equal to kept_size
//
// Integers are little-endian. Texts stand in the order of their ingredients.
//
// Who shows an entry calls texts_of(info.attachment) (EntryInfo, Lookup and BundleLookup carry it).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "larder/bytes.hpp"

namespace larder::format {

// Version history: 1 (first).
inline constexpr std::uint8_t kTextsVersion = 1;
// No reader unpacks more of one attachment than this, whatever it says, nor looks at more texts.
inline constexpr std::uint64_t kTextsSizeMax = std::uint64_t{64} << 20;
inline constexpr std::size_t kTextsMax = 1024;

struct Text {
  std::string name;        // the ingredient's
  std::string text;        // its beginning, or all of it
  std::uint64_t size = 0;  // length of the whole
  bool is_whole() const noexcept { return text.size() == size; }
  friend bool operator==(const Text&, const Text&) = default;
};

// Empty when there are none; those beyond kTextsMax are left out. Compresses what gets smaller by it, where
// the machine has zstd.
std::string encode_texts(std::span<const Text> texts);

// name -> text: all that is readable of an attachment, at most `size_max` bytes of text. What is not –
// damaged, of another version, too large, compressed where there is no zstd – is left out. O(attachment +
// text).
std::vector<Text> texts_of(BytesView attachment, std::uint64_t size_max = kTextsSizeMax);
// The first one of that name.
std::optional<Text> text_of(BytesView attachment, std::string_view name,
                            std::uint64_t size_max = kTextsSizeMax);

}  // namespace larder::format
