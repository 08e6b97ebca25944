#include "format/program_product.hpp"

#include <gtest/gtest.h>

namespace larder::format {
namespace {

std::string example_program() {
  const std::string code("\0binary\xff", 8);
  return encode_program_product({.code = -11,
                                 .log = "a warning",
                                 .pieces = {{"binary", as_bytes(code)}, {"format", as_bytes("spirv")}}});
}

TEST(ProgramProduct, ComesBackAsItWas) {
  const std::string bytes = example_program();
  const auto product = decode_program_product(as_bytes(bytes));
  ASSERT_TRUE(product);
  EXPECT_FALSE(product->is_failure);
  EXPECT_EQ(product->code, -11);
  EXPECT_EQ(product->log, "a warning");
  ASSERT_EQ(product->pieces.size(), 2u);
  EXPECT_EQ(product->pieces[0].name, "binary");
  EXPECT_EQ(as_text(product->pieces[0].bytes), std::string_view("\0binary\xff", 8));
  EXPECT_EQ(as_text(product->pieces[1].bytes), "spirv");
}

TEST(ProgramProduct, KeepsTheCompilersNo) {
  const std::string bytes = encode_program_product({.is_failure = true, .code = -11, .log = "no such type"});
  const auto product = decode_program_product(as_bytes(bytes));
  ASSERT_TRUE(product);
  EXPECT_TRUE(product->is_failure);
  EXPECT_TRUE(product->pieces.empty());
}

TEST(ProgramProduct, IsNotReadWhenItEndsEarlyOrLate) {
  const std::string bytes = example_program();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_program_product(as_bytes(std::string_view(bytes).substr(0, size)))) << size;
  }
  EXPECT_FALSE(decode_program_product(as_bytes(bytes + '\0')));
}

// Whatever a flipped bit makes of it, what is decoded is what would be encoded.
TEST(ProgramProduct, OfAnyFlippedBitIsItselfOrNothing) {
  const std::string bytes = example_program();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto product = decode_program_product(as_bytes(flipped));
    if (product) {
      EXPECT_EQ(encode_program_product(*product), flipped) << bit;
    }
  }
}

TEST(ProgramProduct, OfAnotherVersionIsNotRead) {
  std::string bytes = example_program();
  bytes[0] = 2;
  EXPECT_FALSE(decode_program_product(as_bytes(bytes)));
}

}  // namespace
}  // namespace larder::format
