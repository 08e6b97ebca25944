#include "base/compression.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace larder {
namespace {

std::string source_text(std::size_t lines) {
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) text += "float value_" + std::to_string(i) + " = a[i] * b[i];\n";
  return text;
}

std::string unpacked(std::string_view packed, std::size_t size) {
  std::string text(size, '\0');
  return decompress(as_bytes(packed), std::as_writable_bytes(std::span(text))) ? text : "not unpacked";
}

TEST(Compression, GivesBackWhatItMadeSmaller) {
  const std::string text = source_text(10'000);
  const auto packed = compress(as_bytes(text));
  ASSERT_TRUE(packed.has_value()) << "is libzstd.so.1 installed?";
  EXPECT_LT(packed->size(), text.size() / 3);
  EXPECT_EQ(unpacked(*packed, text.size()), text);
}

TEST(Compression, LeavesAloneWhatWouldNotGetSmaller) {
  std::string noise;
  std::uint32_t state = 1;
  for (int i = 0; i < 100'000; ++i)
    noise.push_back(static_cast<char>((state = state * 1664525 + 1013904223) >> 24));
  EXPECT_FALSE(compress(as_bytes(noise)).has_value());
  EXPECT_FALSE(compress({}).has_value());
}

TEST(Compression, FillsExactlyWhatItWasGivenOrNothing) {
  const std::string text = source_text(100);
  const std::string packed = compress(as_bytes(text)).value();
  EXPECT_EQ(unpacked(packed, text.size() - 1), "not unpacked");
  EXPECT_EQ(unpacked(packed, text.size() + 1), "not unpacked");
  for (std::size_t cut = 0; cut < packed.size(); ++cut) {
    EXPECT_EQ(unpacked(packed.substr(0, cut), text.size()), "not unpacked") << cut;
  }
  EXPECT_EQ(unpacked("garbage", 7), "not unpacked");
}

TEST(Compression, IsFoundByManyThreadsAtOnce) {
  const std::string text = source_text(50);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const auto packed = compress(as_bytes(text));
      right += packed && unpacked(*packed, text.size()) == text;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, 8);
}

TEST(Compression, IsDoneWithoutWhereThereIsNoZstd) {
  const std::string text = source_text(50);
  const std::string packed = compress(as_bytes(text)).value();
  testing::hide_zstd(true);
  EXPECT_FALSE(compress(as_bytes(text)).has_value());
  EXPECT_EQ(unpacked(packed, text.size()), "not unpacked");
  testing::hide_zstd(false);
  EXPECT_EQ(unpacked(packed, text.size()), text);
}

}  // namespace
}  // namespace larder
