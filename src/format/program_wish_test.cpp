#include "format/program_wish.hpp"

#include <gtest/gtest.h>

#include "format/program_product.hpp"

namespace larder::format {
namespace {

const std::string kOneKey(32, 'a');
const std::string kOtherKey = "0123456789abcdef0123456789abcdef";

ProgramWish a_wish() {
  return {"Portable Computing Language", "/home/me", "kernel void k() {}", "-DX=1", {kOneKey, kOtherKey}};
}

TEST(ProgramWish, ComesBackAsItWas) {
  const std::string bytes = encode_program_wish(a_wish());
  EXPECT_EQ(decode_program_wish(as_bytes(bytes)), a_wish());
}

TEST(ProgramWish, IsNoneWhereverItIsCut) {
  const std::string bytes = encode_program_wish(a_wish());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(decode_program_wish(as_bytes(std::string_view(bytes).substr(0, size))), std::nullopt) << size;
}

TEST(ProgramWish, HasKeysAndNotTooMany) {
  for (const auto& [keys, is_one] : {std::pair(std::vector<std::string_view>{}, false),
                                     {{kOneKey, "../../etc/passwd"}, false},
                                     {{std::string_view(kOneKey).substr(1)}, false},
                                     {{std::string_view("0123456789ABCDEF0123456789ABCDEF")}, false},
                                     {std::vector<std::string_view>(kWishKeysMax, kOneKey), true},
                                     {std::vector<std::string_view>(kWishKeysMax + 1, kOneKey), false}}) {
    ProgramWish wish = a_wish();
    wish.keys = keys;
    const std::string bytes = encode_program_wish(wish);
    EXPECT_EQ(decode_program_wish(as_bytes(bytes)).has_value(), is_one) << keys.size();
  }
}

TEST(ProgramWish, IsNoOtherProduct) {
  const std::string bytes = encode_program_product({.log = {}, .pieces = {{"binary", as_bytes("bytes")}}});
  EXPECT_EQ(decode_program_wish(as_bytes(bytes)), std::nullopt);
}

}  // namespace
}  // namespace larder::format
