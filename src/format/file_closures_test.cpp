#include "format/file_closures.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace larder::format {
namespace {

FileClosures example_closures() {
  FileClosures closures;
  KnownFile header{
      .path = "/inc/a.h", .stamp = {1, 2, 3, 4, -5}, .quick = {0x0123456789abcdef, 0xfedcba9876543210}};
  for (std::size_t i = 0; i < header.digest.size(); ++i) header.digest[i] = static_cast<unsigned char>(i);
  closures.files = {header, {.path = "b.h"}};
  closures.closures = {{.uses = {{0, true}, {1, false}}, .keys = {{7, 8}, {9, 10}}}, {.uses = {{1, true}}}};
  return closures;
}

TEST(FileClosures, ComeBackAsTheyWere) {
  const std::string bytes = encode_file_closures(example_closures());
  const auto closures = decode_file_closures(as_bytes(bytes));
  ASSERT_TRUE(closures);
  EXPECT_EQ(*closures, example_closures());
}

TEST(FileClosures, AreReadFromTheGoldenFile) {
  const std::string path(LARDER_TESTDATA "/file-closures-1.bin");
  std::ostringstream golden;
  golden << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(encode_file_closures(example_closures()), golden.str());
  const std::string bytes = golden.str();
  const auto closures = decode_file_closures(as_bytes(bytes));
  ASSERT_TRUE(closures);
  EXPECT_EQ(*closures, example_closures());
}

TEST(FileClosures, AreNotReadWhenTheyEndEarlyOrLate) {
  const std::string bytes = encode_file_closures(example_closures());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_file_closures(as_bytes(std::string_view(bytes).substr(0, size)))) << size;
  }
  EXPECT_FALSE(decode_file_closures(as_bytes(bytes + '\0')));
}

TEST(FileClosures, OfAnyFlippedBitAreOthersOrNothing) {
  const std::string good = encode_file_closures(example_closures());
  for (std::size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    const auto closures = decode_file_closures(as_bytes(bad));
    if (!closures) continue;
    EXPECT_EQ(encode_file_closures(*closures), bad) << bit;
  }
}

TEST(FileClosures, OfAnotherVersionAreNotRead) {
  std::string bytes = encode_file_closures(example_closures());
  bytes[0] = 2;
  EXPECT_FALSE(decode_file_closures(as_bytes(bytes)));
}

TEST(FileClosures, OfEndlessCountsAreNotRead) {
  std::string bytes = encode_file_closures({});
  bytes[1] = bytes[2] = bytes[3] = '\xff';
  EXPECT_FALSE(decode_file_closures(as_bytes(bytes)));
}

}  // namespace
}  // namespace larder::format
