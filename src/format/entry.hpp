// An entry file is one product as kept on disk, with everything needed to trust it: encode and decode, no
// I/O. Any thread may call; the views that come out show the bytes that went in.
//
//   entry    := head product
//   head     := header recipe log attachment padding head_checksum
//   header   := magic version version_check key recipe_size log_size attachment_size product_size
//               made_at cost product_checksum reserved                                        (128 bytes)
//   magic    := 8e 4c 41 52 44 45 52 0a                                 at   0   "\x8eLARDER\n"
//   version  := u32 = 1                                                 at   8
//   version_check := u32 = ~version                                     at  12
//   key      := u64 high, u64 low: XXH3-128 of the recipe               at  16
//   recipe_size, log_size, attachment_size, product_size := u64         at  32, 40, 48, 56
//   made_at  := i64: nanoseconds since 1970                             at  64
//   cost     := u64: nanoseconds that making took, below 2^63           at  72
//   product_checksum := u64 low, u64 high: XXH3-128 of the product      at  80
//   reserved := 32 zero bytes                                           at  96
//   recipe   := canonical bytes (docs/format.md); log, attachment := bytes
//   padding  := zero bytes, so that the product begins at a multiple of 64
//   head_checksum := u64 low, u64 high: XXH3-128 of all that stands before it
//   product  := product_size bytes, to the end of the file
//
// Integers are little-endian. The head's checksum covers the product's, so every byte of the file is covered.
// A changed version number cannot be mistaken for another version: its complement stands beside it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hot.hpp"
#include "format/checksum.hpp"
#include "larder/bytes.hpp"
#include "larder/event.hpp"
#include "larder/recipe.hpp"

namespace larder::format {

// Version history: 1 (first).
inline constexpr std::uint32_t kEntryVersion = 1;
inline constexpr std::size_t kEntryHeaderSize = 128;
inline constexpr std::size_t kProductAlignment = 64;
inline constexpr std::size_t kChecksumSize = 16;
// The smallest file that can be an entry: no recipe, no log, no product.
inline constexpr std::size_t kEntrySizeMin = 192;
// Limits of the parts that are read whole before the product.
inline constexpr std::uint64_t kEntryRecipeSizeMax = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kEntryLogSizeMax = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kEntryAttachmentSizeMax = std::uint64_t{64} << 20;
inline constexpr std::uint64_t kEntryCostMax = ~std::uint64_t{0} >> 1;

// What an entry says of itself. As input to encode_entry_head `product_checksum` and the sizes are not read.
struct EntryHead {
  Key key;
  std::string_view recipe;  // canonical bytes
  std::string_view log;
  BytesView attachment;
  std::int64_t made_at_unix_ns = 0;
  Nanoseconds cost{0};
  std::uint64_t head_size = 0;  // where the product begins
  std::uint64_t product_size = 0;
  Checksum product_checksum;
};

// The bytes that stand before `product` in the file. PRECONDITION: recipe, log and attachment within their
// limits.
std::string encode_entry_head(const EntryHead& head, BytesView product);

// The length of the head of an entry whose parts have these sizes.
LARDER_HOT std::uint64_t entry_head_size(std::uint64_t recipe, std::uint64_t log,
                                         std::uint64_t attachment) noexcept;

// Reads the first kEntryHeaderSize bytes (or as many as the file has) of a file of `file_size` bytes: fills
// sizes, key and times of `head`. Reason::none: the sizes add up to file_size and nothing has to be allocated
// on trust. Else truncated, corrupt, or other_version: a sound header of a format that this code does not
// know.
LARDER_HOT Reason decode_entry_header(BytesView bytes, std::uint64_t file_size, EntryHead& head) noexcept;

// What a header that decode_entry_header found sound says of the recipe behind it.
std::uint64_t recipe_size(BytesView header) noexcept;

// Reads a whole head, of which decode_entry_header was content: checks it and fills the views.
// `bytes` holds at least head.head_size bytes. none or corrupt.
LARDER_HOT Reason decode_entry_head(BytesView bytes, EntryHead& head) noexcept;

// All of it at once for a file that lies in memory. none, truncated, corrupt or other_version.
LARDER_HOT Reason decode_entry(BytesView file, EntryHead& head, BytesView& product) noexcept;

}  // namespace larder::format
