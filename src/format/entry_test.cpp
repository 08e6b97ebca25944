#include "format/entry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "format/index.hpp"
#include "format/little_endian.hpp"

namespace larder::format {
namespace {

std::string golden_recipe() {
  Recipe recipe("golden");
  recipe.add("source", "kernel void f() {}").add("options", "-O2");
  return std::string(recipe.canonical());
}

// An entry of some thousand bits.
std::string sample_entry(std::string_view product = "product bytes", std::string_view log = "warning: unused",
                         std::string_view attachment = "") {
  const std::string recipe = golden_recipe();
  EntryHead head;
  head.key = {0x0123456789abcdef, 0xfedcba9876543210};
  head.recipe = recipe;
  head.log = log;
  head.attachment = as_bytes(attachment);
  head.made_at_unix_ns = 1'600'000'000'123'456'789;
  head.cost = std::chrono::milliseconds(1234);
  std::string file = encode_entry_head(head, as_bytes(product));
  file.append(product);
  return file;
}

Reason decode_entry(std::string_view file) {
  EntryHead head;
  BytesView product;
  return decode_entry(as_bytes(file), head, product);
}

// Sets the integer at `at` and makes the head's checksum right again, as a forger would.
template <typename Integer>
std::string forged(std::string file, std::size_t at, Integer value, std::size_t head_size) {
  auto* const bytes = reinterpret_cast<std::byte*>(file.data());
  store(bytes + at, value);
  const Checksum sum = checksum({bytes, head_size - kChecksumSize});
  store(bytes + head_size - kChecksumSize, sum.low);
  store(bytes + head_size - 8, sum.high);
  return file;
}

TEST(EntryFormat, GivesBackWhatWasEncoded) {
  const std::string file = sample_entry("the product", "the log", "the attachment");
  EntryHead head;
  BytesView product;
  ASSERT_EQ(decode_entry(as_bytes(file), head, product), Reason::none);
  EXPECT_EQ(head.key, (Key{0x0123456789abcdef, 0xfedcba9876543210}));
  EXPECT_EQ(head.recipe, golden_recipe());
  EXPECT_EQ(head.log, "the log");
  EXPECT_EQ(as_text(head.attachment), "the attachment");
  EXPECT_EQ(head.made_at_unix_ns, 1'600'000'000'123'456'789);
  EXPECT_EQ(head.cost, std::chrono::milliseconds(1234));
  EXPECT_EQ(as_text(product), "the product");
  EXPECT_EQ(head.head_size % kProductAlignment, 0u);
}

TEST(EntryFormat, KnowsTheSmallestEntry) {
  EntryHead head;
  EXPECT_EQ(encode_entry_head(head, {}).size(), kEntrySizeMin);
  EXPECT_EQ(entry_head_size(0, 0, 0), kEntrySizeMin);
}

TEST(EntryFormat, RefusesEverySingleBitFlip) {
  const std::string file = sample_entry();
  for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const Reason reason = decode_entry(flipped);
    ASSERT_TRUE(reason == Reason::corrupt || reason == Reason::truncated) << "bit " << bit;
  }
}

TEST(EntryFormat, RefusesEveryTruncation) {
  const std::string file = sample_entry();
  for (std::size_t size = 0; size < file.size(); ++size) {
    ASSERT_EQ(decode_entry(std::string_view(file).substr(0, size)), Reason::truncated) << size;
  }
}

TEST(EntryFormat, RefusesWhatFollowsTheProduct) {
  std::string file = sample_entry();
  file.push_back('\0');
  EXPECT_EQ(decode_entry(file), Reason::corrupt);
  file.append(sample_entry());
  EXPECT_EQ(decode_entry(file), Reason::corrupt);
}

TEST(EntryFormat, RefusesZeros) {
  EXPECT_EQ(decode_entry(std::string(4096, '\0')), Reason::corrupt);
  EXPECT_EQ(decode_entry(""), Reason::truncated);
}

TEST(EntryFormat, LeavesOtherVersionsToOthers) {
  for (const std::uint32_t version : {0u, 2u, 77u}) {
    std::string file = sample_entry();
    auto* const bytes = reinterpret_cast<std::byte*>(file.data());
    store(bytes + 8, version);
    EXPECT_EQ(decode_entry(file), Reason::corrupt) << "without its complement it is no version";
    store(bytes + 12, ~version);
    EXPECT_EQ(decode_entry(file), Reason::other_version);
  }
}

TEST(EntryFormat, RefusesSizesThatAreNotThere) {
  const std::string file = sample_entry();
  EntryHead head;
  ASSERT_EQ(decode_entry_header(as_bytes(file), file.size(), head), Reason::none);
  const std::size_t head_size = head.head_size;
  for (const std::size_t at : {32u, 40u, 48u, 56u}) {
    for (const std::uint64_t size : {std::uint64_t{1} << 63, ~std::uint64_t{0}, std::uint64_t{1} << 32,
                                     std::uint64_t{file.size()} * 2}) {
      EXPECT_NE(decode_entry(forged(file, at, size, head_size)), Reason::none) << at << ' ' << size;
    }
  }
}

TEST(EntryFormat, RefusesACostThatNoEncoderWrites) {
  const std::string file = sample_entry();
  EntryHead head;
  ASSERT_EQ(decode_entry_header(as_bytes(file), file.size(), head), Reason::none);
  EXPECT_EQ(decode_entry(forged(file, 72, kEntryCostMax, head.head_size)), Reason::none);
  EXPECT_EQ(decode_entry(forged(file, 72, kEntryCostMax + 1, head.head_size)), Reason::corrupt);
}

TEST(EntryFormat, RefusesPaddingThatSaysSomething) {
  const std::string file = sample_entry();
  EntryHead head;
  ASSERT_EQ(decode_entry_header(as_bytes(file), file.size(), head), Reason::none);
  EXPECT_EQ(decode_entry(forged(file, 100, std::uint8_t{1}, head.head_size)), Reason::corrupt);
  EXPECT_EQ(decode_entry(forged(file, head.head_size - kChecksumSize - 1, std::uint8_t{1}, head.head_size)),
            Reason::corrupt);
}

TEST(EntryFormat, TrustsNoHeaderThatWasReadBefore) {
  const std::string file = sample_entry();
  EntryHead head;
  ASSERT_EQ(decode_entry_header(as_bytes(file), file.size(), head), Reason::none);
  std::string longer = sample_entry("product", std::string(500, 'l'));
  longer.append(file.size(), 'x');
  EXPECT_EQ(decode_entry_head(as_bytes(longer), head), Reason::corrupt);
}

TEST(ChecksumFormat, IsTheSameInPieces) {
  std::string bytes(100'000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 31);
  for (const std::size_t size : {0u, 1u, 16u, 240u, 4095u, 4096u, 100'000u}) {
    const BytesView all = as_bytes(bytes).subspan(0, size);
    RunningChecksum sum;
    for (std::size_t at = 0; at < size; at += 777)
      sum.add(all.subspan(at, std::min<std::size_t>(777, size - at)));
    EXPECT_EQ(sum.result(), checksum(all)) << size;
  }
}

// Files written by every version of the format that there ever was stay readable.
TEST(EntryFormat, ReadsItsGoldenFile) {
  std::ifstream in(LARDER_TESTDATA "/entry-1.bin", std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  EntryHead head;
  BytesView product;
  ASSERT_EQ(decode_entry(as_bytes(golden), head, product), Reason::none);
  EXPECT_EQ(head.recipe, golden_recipe());
  EXPECT_EQ(as_text(product), "golden product");
  EXPECT_EQ(head.log, "golden log");
  EXPECT_EQ(as_text(head.attachment), "golden attachment");
  EXPECT_EQ(head.cost, std::chrono::milliseconds(1234));
  EXPECT_EQ(golden, sample_entry("golden product", "golden log", "golden attachment"))
      << "version 1 has changed";
}

TEST(EntryFormat, ReadsTheGoldenRecipe) {
  std::ifstream in(LARDER_TESTDATA "/entry-1.bin", std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(in), {}};
  EntryHead head;
  BytesView product;
  ASSERT_EQ(decode_entry(as_bytes(golden), head, product), Reason::none);
  const auto recipe = Recipe::from_canonical(head.recipe);
  ASSERT_TRUE(recipe);
  EXPECT_EQ(recipe->kind(), "golden");
  EXPECT_EQ(recipe->ingredients().size(), 2u);
}

IndexRecord sample_record() {
  IndexRecord record;
  record.event = IndexEvent::gone;
  record.reason = Reason::evicted;
  record.uses = 7;
  record.key = {0x1122334455667788, 0x99aabbccddeeff00};
  record.bytes = 123'456;
  record.cost = std::chrono::seconds(3);
  record.at_unix_ns = 1'600'000'000'000'000'000;
  return record;
}

TEST(IndexFormat, GivesRecordsBack) {
  const IndexRecordBytes bytes = encode_index_record(sample_record());
  const auto record = decode_index_record(bytes);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->event, IndexEvent::gone);
  EXPECT_EQ(record->reason, Reason::evicted);
  EXPECT_EQ(record->uses, 7);
  EXPECT_EQ(record->key, sample_record().key);
  EXPECT_EQ(record->bytes, 123'456u);
  EXPECT_EQ(record->cost, std::chrono::seconds(3));
  EXPECT_EQ(record->at_unix_ns, 1'600'000'000'000'000'000);
}

TEST(IndexFormat, RefusesEveryBitFlipOfARecord) {
  const IndexRecordBytes bytes = encode_index_record(sample_record());
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    IndexRecordBytes flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    ASSERT_FALSE(decode_index_record(flipped)) << bit;
  }
}

TEST(IndexFormat, GoesOnBehindATornRecord) {
  const IndexRecordBytes one = encode_index_record(sample_record());
  const std::string_view record = as_text(one);
  std::string journal(record.substr(0, 30));
  for (int i = 0; i < 3; ++i) journal.append(record);
  const IndexRecords records = decode_index_records(as_bytes(journal));
  EXPECT_EQ(records.records.size(), 3u);
  EXPECT_FALSE(records.is_sound);
}

TEST(IndexFormat, GivesTotalsBackOrNothing) {
  Totals totals;
  totals.fold_next = 17;
  totals.folds = 6400;
  totals.roll_next = 3;
  totals.evict_next = 255;
  totals.rolled_at_unix_ns = 12345;
  totals.sequence = 78;
  totals.shards[200] = {.bytes = 99, .entries = 4, .is_known = true};
  TotalsBytes bytes;
  encode_totals(totals, bytes);
  Totals back;
  ASSERT_TRUE(decode_totals(bytes, back));
  EXPECT_EQ(back.fold_next, 17u);
  EXPECT_EQ(back.folds, 6400u);
  EXPECT_EQ(back.roll_next, 3u);
  EXPECT_EQ(back.evict_next, 255u);
  EXPECT_EQ(back.rolled_at_unix_ns, 12345);
  EXPECT_EQ(back.sequence, 78u);
  EXPECT_EQ(back.shards[200].bytes, 99u);
  EXPECT_EQ(back.shards[200].entries, 4u);
  EXPECT_TRUE(back.shards[200].is_known);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    TotalsBytes damaged = bytes;
    damaged[at] ^= std::byte{0x40};
    ASSERT_FALSE(decode_totals(damaged, back)) << at;
    EXPECT_FALSE(back.shards[200].is_known);
  }
  EXPECT_FALSE(decode_totals(BytesView(bytes).subspan(1), back));
}

}  // namespace
}  // namespace larder::format
