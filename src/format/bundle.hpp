// A bundle file is many entries in one read-only file: encode and decode, no I/O. Any thread may call.
//
//   bundle    := header entry* index signature*
//   header    := magic version version_check entry_count index_offset signature_count file_size
//                index_checksum reserved header_checksum                                       (128 bytes)
//   magic     := 8e 4c 42 55 4e 44 4c 0a                            at   0   "\x8eLBUNDL\n"
//   version   := u32 = 1                                            at   8
//   version_check := u32 = ~version                                 at  12
//   entry_count, index_offset, signature_count, file_size := u64    at  16, 24, 32, 40
//   index_checksum := u64 low, u64 high: XXH3-128 of the index      at  48
//   reserved  := 48 zero bytes                                      at  64
//   header_checksum := u64 low, u64 high: XXH3-128 of all before it at 112
//   entry     := an entry file (format/entry.hpp), then zeros up to a multiple of 64
//   index     := record*, ascending by key, one for each entry, in the order of the entries
//   record    := key (u64 high, u64 low) offset (u64) size (u64) digest (32 bytes)             (64 bytes)
//   digest    := BLAKE2b-256 of the entry
//   signature := public key (32 bytes) Ed25519 (64 bytes) over signed_text(header, index)      (96 bytes)
//
// Integers are little-endian. The first entry begins at 128, each other where the one before it ends, rounded
// up to 64; so the same entries make the same bytes, whatever order they came in. A signature covers every
// entry through its digest, so one entry can be checked without reading the others.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "format/checksum.hpp"
#include "larder/bytes.hpp"
#include "larder/event.hpp"
#include "larder/recipe.hpp"

namespace larder::format {

// Version history: 1 (first).
inline constexpr std::uint32_t kBundleVersion = 1;
inline constexpr std::size_t kBundleHeaderSize = 128;
inline constexpr std::size_t kBundleRecordSize = 64;
inline constexpr std::size_t kBundleSignatureSize = 96;
inline constexpr std::size_t kBundleAlignment = 64;
inline constexpr std::uint64_t kBundleSignaturesMax = 64;

using Digest = std::array<std::uint8_t, 32>;
using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;

// Of `bytes`, or of `bytes` and `more` behind each other.
Digest digest(BytesView bytes, BytesView more = {}) noexcept;

struct BundleRecord {
  Key key;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  Digest digest{};
};

struct BundleSignature {
  PublicKey key{};
  Signature signature{};
};

struct BundleHeader {
  std::uint64_t entry_count = 0;
  std::uint64_t index_offset = 0;
  std::uint64_t signature_count = 0;
  std::uint64_t file_size = 0;
  Checksum index_checksum;

  // From index_offset to the end of the file.
  std::uint64_t tail_size() const noexcept {
    return entry_count * kBundleRecordSize + signature_count * kBundleSignatureSize;
  }
};

// Where an entry begins when the one before it, or the header, ends at `end`.
inline std::uint64_t bundle_aligned(std::uint64_t end) noexcept {
  return (end + kBundleAlignment - 1) / kBundleAlignment * kBundleAlignment;
}

std::string encode_bundle_index(std::span<const BundleRecord> records);
// Of a bundle with this index and room for `signature_count` signatures.
std::string encode_bundle_header(std::span<const BundleRecord> records, std::string_view index,
                                 std::uint64_t signature_count);
std::string encode_bundle_signatures(std::span<const BundleSignature> signatures);
// What is signed: a name for its purpose, and the digest of header and index.
std::string signed_text(BytesView header, BytesView index);

// True when the file begins as bundles do; `bytes` may be its beginning only.
bool is_bundle(BytesView bytes) noexcept;

// Reads the first kBundleHeaderSize bytes of a file of `file_size` bytes. none: the sizes add up to
// file_size. Else truncated, corrupt or other_version.
Reason decode_bundle_header(BytesView bytes, std::uint64_t file_size, BundleHeader& header) noexcept;

// `tail` is what stands in the file from header.index_offset to its end. none or corrupt.
Reason check_bundle_tail(BytesView tail, const BundleHeader& header) noexcept;

// PRECONDITION: check_bundle_tail was content with `tail`; number < header.entry_count or signature_count.
BundleRecord bundle_record(BytesView tail, std::uint64_t number) noexcept;
BundleSignature bundle_signature(BytesView tail, const BundleHeader& header, std::uint64_t number) noexcept;

// The number of the record with this key, or header.entry_count. O(log entries).
std::uint64_t find_in_bundle(BytesView tail, const BundleHeader& header, const Key& key) noexcept;

}  // namespace larder::format
