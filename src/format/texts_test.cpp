#include "format/texts.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>

#include "base/compression.hpp"
#include "format/little_endian.hpp"

namespace larder::format {
namespace {

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "  r" + std::to_string(i % 97) + " = load(p);\n";
  return text;
}

Text whole(std::string name, std::string text) {
  const std::uint64_t size = text.size();
  return {std::move(name), std::move(text), size};
}

// A text as the grammar has it, whether true or not.
std::string stored(int form, std::string_view name, std::uint64_t size, std::uint64_t kept,
                   std::uint64_t stored_size, std::string_view bytes) {
  std::string text(29, '\0');
  auto* const at = reinterpret_cast<std::byte*>(text.data());
  store(at, static_cast<std::uint8_t>(form));
  store(at + 1, static_cast<std::uint32_t>(name.size()));
  store(at + 5, size);
  store(at + 13, kept);
  store(at + 21, stored_size);
  return text.append(name).append(bytes);
}

TEST(Texts, ComeBackAsTheyWereWithTheirNames) {
  const std::vector<Text> texts{whole("source", lines(20'000)),
                                {"header", "only the beginning", 4711},
                                whole("", "no name"),
                                whole("empty", "")};
  const std::string attachment = encode_texts(texts);
  EXPECT_LT(attachment.size(), lines(20'000).size() / 3);
  EXPECT_EQ(texts_of(as_bytes(attachment)), texts);
  EXPECT_EQ(text_of(as_bytes(attachment), "header"), texts[1]);
  EXPECT_FALSE(texts[1].is_whole());
  EXPECT_TRUE(texts[0].is_whole());
  EXPECT_FALSE(text_of(as_bytes(attachment), "other").has_value());
  EXPECT_EQ(encode_texts({}), "");
  EXPECT_TRUE(texts_of({}).empty());
}

TEST(Texts, AreKeptPlainWhereThereIsNoZstd) {
  const std::vector<Text> texts{whole("source", lines(100))};
  const std::string packed = encode_texts(texts);
  larder::testing::hide_zstd(true);
  const std::string plain = encode_texts(texts);
  EXPECT_EQ(texts_of(as_bytes(plain)), texts);
  EXPECT_TRUE(texts_of(as_bytes(packed)).empty());
  larder::testing::hide_zstd(false);
  EXPECT_GT(plain.size(), packed.size());
}

TEST(Texts, AreTheBytesOfTheirGrammar) {
  const std::string plain = std::string(1, '\x01') + stored(0, "n", 5, 2, 2, "ab");
  EXPECT_EQ(encode_texts(std::vector<Text>{{"n", "ab", 5}}), plain);
  EXPECT_EQ(texts_of(as_bytes(plain)), (std::vector<Text>{{"n", "ab", 5}}));
}

TEST(Texts, AreReadFromTheirGoldenFile) {
  std::ifstream in(LARDER_TESTDATA "/texts-1.bin", std::ios::binary);
  const std::string golden((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  std::string source;
  for (int i = 0; i < 40; ++i) source += "float v" + std::to_string(i) + " = a[i];\n";
  EXPECT_EQ(texts_of(as_bytes(golden)), (std::vector<Text>{whole("source", source)}));
}

TEST(Texts, OfAnotherVersionAreNone) {
  EXPECT_TRUE(texts_of(as_bytes(std::string(1, '\x02') + stored(0, "n", 2, 2, 2, "ab"))).empty());
}

TEST(Texts, AreReadNoFurtherThanTheyHoldTogether) {
  const std::string good = std::string(1, '\x01') + stored(0, "n", 2, 2, 2, "ab");
  const std::string damaged[] = {
      stored(2, "x", 1, 1, 1, "y"),                                  // unknown form
      stored(0, "x", 1, 2, 2, "yy"),                                 // more kept than there was
      stored(0, "x", 9, 2, 3, "yyy"),                                // plain, but of another length
      stored(0, "x", ~0ull, ~0ull, ~0ull, "y"),                      // longer than the attachment
      stored(1, "x", 9, 9, 1ull << 62, "y"),                         //
      std::string(10, '\0'),                                         // cut
      std::string("\0\xff\xff\xff\xff", 5) + std::string(24, '\0'),  // a name longer than the attachment
  };
  for (const std::string& bad : damaged) {
    EXPECT_EQ(texts_of(as_bytes(good + bad)), (std::vector<Text>{{"n", "ab", 2}}));
  }
  for (std::size_t cut = 0; cut < good.size(); ++cut)
    EXPECT_TRUE(texts_of(as_bytes(good.substr(0, cut))).empty());
}

TEST(Texts, LeaveOutOneThatDoesNotUnpackAndGoOn) {
  const std::string attachment =
      std::string(1, '\x01') + stored(1, "bad", 100, 100, 7, "garbage") + stored(0, "n", 2, 2, 2, "ab");
  EXPECT_EQ(texts_of(as_bytes(attachment)), (std::vector<Text>{{"n", "ab", 2}}));
}

TEST(Texts, NeverUnpackABomb) {
  // Three megabytes of zeros in some hundred bytes, a thousand times.
  const std::string zeros(3 << 20, '\0');
  const std::string packed = compress(as_bytes(zeros)).value();
  ASSERT_LT(packed.size(), 1000u);
  std::string attachment(1, '\x01');
  for (int i = 0; i < 1000; ++i) {
    attachment += stored(1, "bomb", zeros.size(), zeros.size(), packed.size(), packed);
  }
  EXPECT_EQ(texts_of(as_bytes(attachment), 10 << 20).size(), 3u);
  std::uint64_t sum = 0;
  for (const Text& text : texts_of(as_bytes(attachment))) sum += text.text.size();
  EXPECT_LE(sum, kTextsSizeMax);
  // One that says it is small, and one that says it is huge.
  const auto liar = [&](std::uint64_t said) {
    return std::string(1, '\x01') + stored(1, "liar", said, said, packed.size(), packed);
  };
  EXPECT_TRUE(texts_of(as_bytes(liar(1000))).empty());
  EXPECT_TRUE(texts_of(as_bytes(liar(kTextsSizeMax + 1))).empty());
  EXPECT_TRUE(texts_of(as_bytes(liar(~0ull))).empty());
}

TEST(Texts, AreLookedAtOnlyUpToTheirLimit) {
  std::string attachment(1, '\x01');
  for (std::size_t i = 0; i < kTextsMax + 10; ++i) attachment += stored(0, "", 0, 0, 0, "");
  EXPECT_EQ(texts_of(as_bytes(attachment)).size(), kTextsMax);
  EXPECT_EQ(texts_of(as_bytes(encode_texts(std::vector<Text>(kTextsMax + 10)))).size(), kTextsMax);
}

RC_GTEST_PROP(TextsProperty, GivesBackWhateverWasEncoded, ()) {
  std::vector<Text> texts;
  for (const auto& [name, text] : *rc::gen::arbitrary<std::vector<std::pair<std::string, std::string>>>()) {
    const auto extra = *rc::gen::inRange<std::uint64_t>(0, 3);
    texts.push_back({name, text, text.size() + extra});
  }
  const std::string attachment = encode_texts(texts);
  RC_ASSERT(texts_of(as_bytes(attachment)) == texts);
}

}  // namespace
}  // namespace larder::format
