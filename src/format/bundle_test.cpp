#include "format/bundle.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "format/entry.hpp"
#include "format/little_endian.hpp"

namespace larder::format {
namespace {

struct Sample {
  Key key;
  std::string product;
};

std::string recipe_of(std::uint64_t number) {
  Recipe recipe("sample");
  recipe.add("number", std::to_string(number));
  return std::string(recipe.canonical());
}

// A bundle of entries with these keys, as a writer would make it.
std::string sample_bundle(const std::vector<Sample>& samples,
                          std::span<const BundleSignature> signatures = {}) {
  std::string entries(kBundleHeaderSize, '\0');
  std::vector<BundleRecord> records;
  for (const Sample& one : samples) {
    entries.resize(bundle_aligned(entries.size()));
    const std::string recipe = recipe_of(one.key.low);
    EntryHead head;
    head.key = one.key;
    head.recipe = recipe;
    head.made_at_unix_ns = 1'600'000'000'000'000'000;
    head.cost = std::chrono::milliseconds(7);
    const std::string entry = encode_entry_head(head, as_bytes(one.product)) + one.product;
    records.push_back({one.key, entries.size(), entry.size(), digest(as_bytes(entry))});
    entries += entry;
  }
  entries.resize(bundle_aligned(entries.size()));
  const std::string index = encode_bundle_index(records);
  const std::string header = encode_bundle_header(records, index, signatures.size());
  return header + entries.substr(kBundleHeaderSize) + index + encode_bundle_signatures(signatures);
}

std::string two_entries() {
  return sample_bundle({{{1, 2}, "first product"}, {{1, 3}, "second"}});
}

Reason decode_bundle(std::string_view file, BundleHeader& header, BytesView& tail) {
  const Reason reason =
      decode_bundle_header(as_bytes(file.substr(0, kBundleHeaderSize)), file.size(), header);
  if (reason != Reason::none) return reason;
  tail = as_bytes(file.substr(header.index_offset));
  return check_bundle_tail(tail, header);
}
Reason decode_bundle(std::string_view file) {
  BundleHeader header;
  BytesView tail;
  return decode_bundle(file, header, tail);
}

// Sets the integer at `at` and makes both checksums right again, as a forger would.
template <typename Integer>
std::string forged(std::string file, std::size_t at, Integer value, std::size_t index_at,
                   std::size_t index_size) {
  auto* const bytes = reinterpret_cast<std::byte*>(file.data());
  store(bytes + at, value);
  const Checksum index = checksum({bytes + index_at, index_size});
  store(bytes + 48, index.low);
  store(bytes + 56, index.high);
  const Checksum header = checksum({bytes, 112});
  store(bytes + 112, header.low);
  store(bytes + 120, header.high);
  return file;
}

TEST(BundleFormat, FindsEveryEntryAndNoOther) {
  std::vector<Sample> samples;
  for (std::uint64_t i = 0; i < 50; ++i) samples.push_back({{i / 7, i * 3}, "product " + std::to_string(i)});
  const std::string file = sample_bundle(samples);
  BundleHeader header;
  BytesView tail;
  ASSERT_EQ(decode_bundle(file, header, tail), Reason::none);
  EXPECT_EQ(header.entry_count, 50u);
  for (std::uint64_t i = 0; i < 50; ++i) {
    ASSERT_EQ(find_in_bundle(tail, header, {i / 7, i * 3}), i);
    EXPECT_EQ(find_in_bundle(tail, header, {i / 7, i * 3 + 1}), 50u);
    const BundleRecord record = bundle_record(tail, i);
    EntryHead head;
    BytesView product;
    const std::string_view entry = std::string_view(file).substr(record.offset, record.size);
    ASSERT_EQ(decode_entry(as_bytes(entry), head, product), Reason::none);
    EXPECT_EQ(as_text(product), "product " + std::to_string(i));
    EXPECT_EQ(digest(as_bytes(entry)), record.digest);
  }
}

TEST(BundleFormat, AnEmptyBundleIsSound) {
  EXPECT_EQ(decode_bundle(sample_bundle({})), Reason::none);
}

TEST(BundleFormat, EveryTruncationAndEveryAppendedByteIsSeen) {
  const std::string file = two_entries();
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_EQ(decode_bundle(file.substr(0, size)), Reason::truncated) << size;
  }
  EXPECT_EQ(decode_bundle(file + '\0'), Reason::corrupt);
}

TEST(BundleFormat, EveryFlippedBitOfHeaderAndIndexIsSeen) {
  const std::string file = two_entries();
  BundleHeader header;
  BytesView tail;
  ASSERT_EQ(decode_bundle(file, header, tail), Reason::none);
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    const std::size_t at = bit / 8;
    if (at >= kBundleHeaderSize && at < header.index_offset) continue;  // entries check themselves
    std::string flipped = file;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (bit % 8)));
    EXPECT_NE(decode_bundle(flipped), Reason::none) << bit;
  }
}

TEST(BundleFormat, ANewerVersionIsToldFromDamage) {
  std::string newer = two_entries();
  store(reinterpret_cast<std::byte*>(newer.data()) + 8, std::uint32_t{7});
  EXPECT_EQ(decode_bundle(newer), Reason::corrupt);
  store(reinterpret_cast<std::byte*>(newer.data()) + 12, ~std::uint32_t{7});
  EXPECT_EQ(decode_bundle(newer), Reason::other_version);
}

TEST(BundleFormat, NoForgedNumberLeadsOutOfTheFile) {
  const std::string file = two_entries();
  BundleHeader header;
  BytesView tail;
  ASSERT_EQ(decode_bundle(file, header, tail), Reason::none);
  const std::uint64_t lies[] = {0,
                                1,
                                64,
                                127,
                                file.size(),
                                file.size() + 1,
                                std::uint64_t{1} << 32,
                                std::uint64_t{1} << 58,
                                std::uint64_t{1} << 63,
                                ~std::uint64_t{0}};
  const std::size_t index_size = 2 * kBundleRecordSize;
  for (const std::uint64_t lie : lies) {
    for (const std::size_t at : {16u, 24u, 32u, 40u}) {
      const std::string forgery = forged(file, at, lie, header.index_offset, index_size);
      EXPECT_TRUE(forgery == file || decode_bundle(forgery) != Reason::none) << at << ' ' << lie;
    }
    for (const std::size_t field : {16u, 24u}) {
      for (const std::size_t record : {0u, 1u}) {
        const std::size_t at = header.index_offset + record * kBundleRecordSize + field;
        const std::string forgery = forged(file, at, lie, header.index_offset, index_size);
        EXPECT_TRUE(forgery == file || decode_bundle(forgery) != Reason::none) << at << ' ' << lie;
      }
    }
  }
  // Keys out of order, and the same one twice.
  for (const std::uint64_t low : {1u, 2u}) {
    EXPECT_EQ(decode_bundle(forged(file, header.index_offset + kBundleRecordSize + 8, low,
                                   header.index_offset, index_size)),
              Reason::corrupt);
  }
}

TEST(BundleFormat, SignaturesStandBehindTheIndex) {
  BundleSignature one;
  one.key.fill(3);
  one.signature.fill(4);
  BundleSignature other;
  other.key.fill(5);
  const BundleSignature both[] = {one, other};
  const std::string file = sample_bundle({{{1, 1}, "p"}}, both);
  BundleHeader header;
  BytesView tail;
  ASSERT_EQ(decode_bundle(file, header, tail), Reason::none);
  ASSERT_EQ(header.signature_count, 2u);
  EXPECT_EQ(bundle_signature(tail, header, 0).key, one.key);
  EXPECT_EQ(bundle_signature(tail, header, 0).signature, one.signature);
  EXPECT_EQ(bundle_signature(tail, header, 1).key, other.key);
}

TEST(BundleFormat, WhatIsSignedNamesItsPurposeAndCoversHeaderAndIndex) {
  const std::string text = signed_text(as_bytes("header"), as_bytes("index"));
  EXPECT_TRUE(text.starts_with("larder bundle signature"));
  EXPECT_NE(text, signed_text(as_bytes("header"), as_bytes("inde")));
  EXPECT_NE(text, signed_text(as_bytes("heade"), as_bytes("index")));
}

// Every version that was ever written stays readable; this file is never made anew.
TEST(BundleFormat, ReadsTheGoldenFileOfVersion1) {
  std::ifstream in(LARDER_TESTDATA "/bundle-1.bin", std::ios::binary);
  const std::string file{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(file.empty());
  EXPECT_EQ(decode_bundle(file), Reason::none);
  EXPECT_EQ(file, two_entries()) << "the same entries make the same bytes";
}

}  // namespace
}  // namespace larder::format
