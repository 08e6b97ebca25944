#include "format/step_product.hpp"

#include <gtest/gtest.h>

namespace larder::format {
namespace {

std::string example_step() {
  return encode_step_product({.is_elsewhere = false,
                              .duration_ms = 1234,
                              .said = "a.c:1: warning: unused",
                              .made = {{MadeForm::file, 0755, {7, 9}, as_bytes("an object")},
                                       {MadeForm::link, 0777, {1, 2}, as_bytes("liba.so.1")},
                                       {MadeForm::depfile, 0644, {}, as_bytes("a.o: a.c")}}});
}

TEST(StepProduct, ComesBackAsItWas) {
  const std::string bytes = example_step();
  const auto product = decode_step_product(as_bytes(bytes));
  ASSERT_TRUE(product);
  EXPECT_FALSE(product->is_elsewhere);
  EXPECT_EQ(product->duration_ms, 1234u);
  EXPECT_EQ(product->said, "a.c:1: warning: unused");
  ASSERT_EQ(product->made.size(), 3u);
  EXPECT_EQ(product->made[0].mode, 0755);
  EXPECT_EQ(product->made[0].quick, (Checksum{7, 9}));
  EXPECT_EQ(as_text(product->made[0].bytes), "an object");
  EXPECT_EQ(product->made[1].form, MadeForm::link);
  EXPECT_EQ(as_text(product->made[2].bytes), "a.o: a.c");
}

TEST(StepProduct, TellsThatItLiesElsewhere) {
  const std::string bytes =
      encode_step_product({.is_elsewhere = true, .said = "a.o holds the path", .made = {}});
  const auto product = decode_step_product(as_bytes(bytes));
  ASSERT_TRUE(product);
  EXPECT_TRUE(product->is_elsewhere);
  EXPECT_TRUE(product->made.empty());
}

TEST(StepProduct, IsNotReadWhenItEndsEarlyOrLate) {
  const std::string bytes = example_step();
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_step_product(as_bytes(std::string_view(bytes).substr(0, size)))) << size;
  EXPECT_FALSE(decode_step_product(as_bytes(bytes + '\0')));
}

// Whatever a flipped bit makes of it, what is decoded is what would be encoded.
TEST(StepProduct, OfAnyFlippedBitIsItselfOrNothing) {
  const std::string bytes = example_step();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto product = decode_step_product(as_bytes(flipped));
    if (product) {
      EXPECT_EQ(encode_step_product(*product), flipped) << bit;
    }
  }
}

TEST(StepProduct, OfAnotherVersionIsNotRead) {
  std::string bytes = example_step();
  bytes[0] = 2;
  EXPECT_FALSE(decode_step_product(as_bytes(bytes)));
}

}  // namespace
}  // namespace larder::format
