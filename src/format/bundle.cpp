#include "format/bundle.hpp"

#include <sodium/crypto_generichash_blake2b.h>

#include <algorithm>
#include <cstring>

#include "base/assert.hpp"
#include "format/checksum_bytes.hpp"
#include "format/entry.hpp"
#include "format/little_endian.hpp"

namespace larder::format {
namespace {

constexpr unsigned char kBundleMagic[8] = {0x8e, 'L', 'B', 'U', 'N', 'D', 'L', '\n'};
constexpr std::string_view kPurpose = "larder bundle signature, version 1\n";
constexpr std::size_t kHeaderChecksumAt = 112;

std::byte* bytes_of(std::string& text) noexcept {
  return reinterpret_cast<std::byte*>(text.data());
}

Key key_at(BytesView tail, std::uint64_t number) noexcept {
  const std::byte* const at = tail.data() + number * kBundleRecordSize;
  return {load<std::uint64_t>(at), load<std::uint64_t>(at + 8)};
}

}  // namespace

Digest digest(BytesView bytes, BytesView more) noexcept {
  Digest result;
  crypto_generichash_blake2b_state state;
  crypto_generichash_blake2b_init(&state, nullptr, 0, result.size());
  for (const BytesView part : {bytes, more}) {
    crypto_generichash_blake2b_update(&state, reinterpret_cast<const unsigned char*>(part.data()),
                                      part.size());
  }
  crypto_generichash_blake2b_final(&state, result.data(), result.size());
  return result;
}

std::string encode_bundle_index(std::span<const BundleRecord> records) {
  std::string index(records.size() * kBundleRecordSize, '\0');
  std::byte* at = bytes_of(index);
  for (const BundleRecord& record : records) {
    store(at, record.key.high);
    store(at + 8, record.key.low);
    store(at + 16, record.offset);
    store(at + 24, record.size);
    std::memcpy(at + 32, record.digest.data(), record.digest.size());
    at += kBundleRecordSize;
  }
  return index;
}

std::string encode_bundle_header(std::span<const BundleRecord> records, std::string_view index,
                                 std::uint64_t signature_count) {
  LARDER_ASSERT(signature_count <= kBundleSignaturesMax);
  const std::uint64_t end = records.empty() ? kBundleHeaderSize : records.back().offset + records.back().size;
  const std::uint64_t index_offset = bundle_aligned(end);
  std::string header(kBundleHeaderSize, '\0');
  std::byte* const at = bytes_of(header);
  std::memcpy(at, kBundleMagic, sizeof kBundleMagic);
  store(at + 8, kBundleVersion);
  store(at + 12, ~kBundleVersion);
  store(at + 16, static_cast<std::uint64_t>(records.size()));
  store(at + 24, index_offset);
  store(at + 32, signature_count);
  store(at + 40, index_offset + index.size() + signature_count * kBundleSignatureSize);
  store_checksum(at + 48, checksum(as_bytes(index)));
  store_checksum(at + kHeaderChecksumAt, checksum({at, kHeaderChecksumAt}));
  return header;
}

std::string encode_bundle_signatures(std::span<const BundleSignature> signatures) {
  std::string text;
  for (const BundleSignature& one : signatures) {
    text.append(reinterpret_cast<const char*>(one.key.data()), one.key.size());
    text.append(reinterpret_cast<const char*>(one.signature.data()), one.signature.size());
  }
  return text;
}

std::string signed_text(BytesView header, BytesView index) {
  const Digest of_both = digest(header, index);
  return std::string(kPurpose).append(reinterpret_cast<const char*>(of_both.data()), of_both.size());
}

bool is_bundle(BytesView bytes) noexcept {
  return bytes.size() >= sizeof kBundleMagic &&
         std::memcmp(bytes.data(), kBundleMagic, sizeof kBundleMagic) == 0;
}

Reason decode_bundle_header(BytesView bytes, std::uint64_t file_size, BundleHeader& header) noexcept {
  if (bytes.size() < kBundleHeaderSize || file_size < kBundleHeaderSize) return Reason::truncated;
  const std::byte* const at = bytes.data();
  if (!is_bundle(bytes)) return Reason::corrupt;
  const auto version = load<std::uint32_t>(at + 8);
  if (load<std::uint32_t>(at + 12) != ~version) return Reason::corrupt;
  if (version != kBundleVersion) return Reason::other_version;
  if (load_checksum(at + kHeaderChecksumAt) != checksum({at, kHeaderChecksumAt})) return Reason::corrupt;
  header.entry_count = load<std::uint64_t>(at + 16);
  header.index_offset = load<std::uint64_t>(at + 24);
  header.signature_count = load<std::uint64_t>(at + 32);
  header.file_size = load<std::uint64_t>(at + 40);
  header.index_checksum = load_checksum(at + 48);
  if (header.file_size != file_size) {
    return header.file_size > file_size ? Reason::truncated : Reason::corrupt;
  }
  const bool has_reserved =
      std::any_of(at + 64, at + kHeaderChecksumAt, [](std::byte b) { return b != std::byte{0}; });
  // Each entry takes its record at least, so the count is bounded before it is multiplied.
  if (has_reserved || header.signature_count > kBundleSignaturesMax ||
      header.entry_count > file_size / kBundleRecordSize || header.index_offset < kBundleHeaderSize ||
      header.index_offset > file_size || header.tail_size() != file_size - header.index_offset) {
    return Reason::corrupt;
  }
  return Reason::none;
}

Reason check_bundle_tail(BytesView tail, const BundleHeader& header) noexcept {
  if (tail.size() != header.tail_size()) return Reason::corrupt;
  const BytesView index = tail.first(header.entry_count * kBundleRecordSize);
  if (checksum(index) != header.index_checksum) return Reason::corrupt;
  std::uint64_t end = kBundleHeaderSize;
  Key before;
  for (std::uint64_t number = 0; number < header.entry_count; ++number) {
    const BundleRecord record = bundle_record(tail, number);
    if (number != 0 && record.key <= before) return Reason::corrupt;
    if (record.offset != bundle_aligned(end) || record.size < kEntrySizeMin ||
        record.size > header.index_offset || record.offset > header.index_offset - record.size) {
      return Reason::corrupt;
    }
    end = record.offset + record.size;
    before = record.key;
  }
  return bundle_aligned(end) == header.index_offset ? Reason::none : Reason::corrupt;
}

BundleRecord bundle_record(BytesView tail, std::uint64_t number) noexcept {
  const std::byte* const at = tail.data() + number * kBundleRecordSize;
  BundleRecord record;
  record.key = key_at(tail, number);
  record.offset = load<std::uint64_t>(at + 16);
  record.size = load<std::uint64_t>(at + 24);
  std::memcpy(record.digest.data(), at + 32, record.digest.size());
  return record;
}

BundleSignature bundle_signature(BytesView tail, const BundleHeader& header, std::uint64_t number) noexcept {
  const std::byte* const at =
      tail.data() + header.entry_count * kBundleRecordSize + number * kBundleSignatureSize;
  BundleSignature signature;
  std::memcpy(signature.key.data(), at, signature.key.size());
  std::memcpy(signature.signature.data(), at + signature.key.size(), signature.signature.size());
  return signature;
}

std::uint64_t find_in_bundle(BytesView tail, const BundleHeader& header, const Key& key) noexcept {
  std::uint64_t first = 0;
  std::uint64_t last = header.entry_count;
  while (first < last) {
    const std::uint64_t middle = first + (last - first) / 2;
    if (key_at(tail, middle) < key) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  return first < header.entry_count && key_at(tail, first) == key ? first : header.entry_count;
}

}  // namespace larder::format
