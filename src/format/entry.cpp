#include "format/entry.hpp"

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "format/checksum_bytes.hpp"
#include "format/little_endian.hpp"

namespace larder::format {
namespace {

constexpr unsigned char kEntryMagic[8] = {0x8e, 'L', 'A', 'R', 'D', 'E', 'R', '\n'};

constexpr std::size_t kVersionAt = 8;
constexpr std::size_t kVersionCheckAt = 12;
constexpr std::size_t kKeyAt = 16;
constexpr std::size_t kRecipeSizeAt = 32;
constexpr std::size_t kLogSizeAt = 40;
constexpr std::size_t kAttachmentSizeAt = 48;
constexpr std::size_t kProductSizeAt = 56;
constexpr std::size_t kMadeAt = 64;
constexpr std::size_t kCostAt = 72;
constexpr std::size_t kProductChecksumAt = 80;
constexpr std::size_t kReservedAt = 96;

LARDER_HOT bool all_zero(BytesView bytes) noexcept {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace

std::uint64_t entry_head_size(std::uint64_t recipe, std::uint64_t log, std::uint64_t attachment) noexcept {
  const std::uint64_t unpadded = kEntryHeaderSize + recipe + log + attachment + kChecksumSize;
  return (unpadded + kProductAlignment - 1) / kProductAlignment * kProductAlignment;
}

std::string encode_entry_head(const EntryHead& head, BytesView product) {
  LARDER_ASSERT(head.recipe.size() <= kEntryRecipeSizeMax);
  LARDER_ASSERT(head.log.size() <= kEntryLogSizeMax);
  LARDER_ASSERT(head.attachment.size() <= kEntryAttachmentSizeMax);
  std::string bytes(entry_head_size(head.recipe.size(), head.log.size(), head.attachment.size()), '\0');
  auto* const at = reinterpret_cast<std::byte*>(bytes.data());
  std::memcpy(at, kEntryMagic, sizeof kEntryMagic);
  store(at + kVersionAt, kEntryVersion);
  store(at + kVersionCheckAt, ~kEntryVersion);
  store(at + kKeyAt, head.key.high);
  store(at + kKeyAt + 8, head.key.low);
  store(at + kRecipeSizeAt, std::uint64_t{head.recipe.size()});
  store(at + kLogSizeAt, std::uint64_t{head.log.size()});
  store(at + kAttachmentSizeAt, std::uint64_t{head.attachment.size()});
  store(at + kProductSizeAt, std::uint64_t{product.size()});
  store(at + kMadeAt, head.made_at_unix_ns);
  store(at + kCostAt, static_cast<std::uint64_t>(std::max<std::int64_t>(0, head.cost.count())));
  store_checksum(at + kProductChecksumAt, checksum(product));

  std::byte* part = at + kEntryHeaderSize;
  part = std::copy_n(as_bytes(head.recipe).data(), head.recipe.size(), part);
  part = std::copy_n(as_bytes(head.log).data(), head.log.size(), part);
  std::copy_n(head.attachment.data(), head.attachment.size(), part);
  std::byte* const end = at + bytes.size() - kChecksumSize;
  store_checksum(end, checksum({at, end}));
  return bytes;
}

Reason decode_entry_header(BytesView bytes, std::uint64_t file_size, EntryHead& head) noexcept {
  if (file_size < kEntrySizeMin || bytes.size() < kEntryHeaderSize) return Reason::truncated;
  const std::byte* const at = bytes.data();
  if (std::memcmp(at, kEntryMagic, sizeof kEntryMagic) != 0) return Reason::corrupt;
  const auto version = load<std::uint32_t>(at + kVersionAt);
  if (load<std::uint32_t>(at + kVersionCheckAt) != ~version) return Reason::corrupt;
  if (version != kEntryVersion) return Reason::other_version;

  const auto recipe = load<std::uint64_t>(at + kRecipeSizeAt);
  const auto log = load<std::uint64_t>(at + kLogSizeAt);
  const auto attachment = load<std::uint64_t>(at + kAttachmentSizeAt);
  const auto product = load<std::uint64_t>(at + kProductSizeAt);
  if (recipe > kEntryRecipeSizeMax || log > kEntryLogSizeMax || attachment > kEntryAttachmentSizeMax) {
    return Reason::corrupt;
  }
  const std::uint64_t head_size = entry_head_size(recipe, log, attachment);
  if (head_size > file_size || product > file_size - head_size) return Reason::truncated;
  if (product < file_size - head_size) return Reason::corrupt;

  const auto cost = load<std::uint64_t>(at + kCostAt);
  if (cost > kEntryCostMax) return Reason::corrupt;  // the encoder never writes it

  head = EntryHead{};
  head.key = {load<std::uint64_t>(at + kKeyAt), load<std::uint64_t>(at + kKeyAt + 8)};
  head.made_at_unix_ns = load<std::int64_t>(at + kMadeAt);
  head.cost = Nanoseconds(static_cast<std::int64_t>(cost));
  head.head_size = head_size;
  head.product_size = product;
  head.product_checksum = load_checksum(at + kProductChecksumAt);
  return Reason::none;
}

std::uint64_t recipe_size(BytesView header) noexcept {
  return load<std::uint64_t>(header.data() + kRecipeSizeAt);
}

Reason decode_entry_head(BytesView bytes, EntryHead& head) noexcept {
  LARDER_ASSERT(bytes.size() >= head.head_size && head.head_size >= kEntrySizeMin);
  // The file may have been edited since its header was read: nothing read then is trusted now.
  EntryHead again;
  const Reason header = decode_entry_header(bytes, head.head_size + head.product_size, again);
  if (header != Reason::none || again.head_size != head.head_size) return Reason::corrupt;
  head = again;
  const std::byte* const at = bytes.data();
  const std::byte* const end = at + head.head_size - kChecksumSize;
  if (load_checksum(end) != checksum({at, end})) return Reason::corrupt;
  const auto recipe = load<std::uint64_t>(at + kRecipeSizeAt);
  const auto log = load<std::uint64_t>(at + kLogSizeAt);
  const auto attachment = load<std::uint64_t>(at + kAttachmentSizeAt);
  // One entry has one encoding: what the grammar calls zero is zero.
  const std::byte* part = at + kEntryHeaderSize;
  if (!all_zero({at + kReservedAt, part})) return Reason::corrupt;
  head.recipe = as_text({part, recipe});
  part += recipe;
  head.log = as_text({part, log});
  part += log;
  head.attachment = {part, attachment};
  part += attachment;
  return all_zero({part, end}) ? Reason::none : Reason::corrupt;
}

Reason decode_entry(BytesView file, EntryHead& head, BytesView& product) noexcept {
  if (const Reason reason = decode_entry_header(file, file.size(), head); reason != Reason::none)
    return reason;
  if (const Reason reason = decode_entry_head(file, head); reason != Reason::none) return reason;
  product = file.subspan(head.head_size);
  return checksum(product) == head.product_checksum ? Reason::none : Reason::corrupt;
}

}  // namespace larder::format
