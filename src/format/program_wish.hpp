// What a layer leaves for larder's worker: a program of source whose binary its driver makes dear to ask for,
// and that the worker is to build once more, for the next run. A file of its own, gone when it is done.
// Encode and decode, no I/O; any bytes may be decoded.
//
//   wish := a program's product (format/program_product.hpp) whose pieces are, in this order,
//           platform folder text options key+
//
// A key is 32 hexadecimal digits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/bytes.hpp"

namespace larder::format {

inline constexpr std::size_t kWishKeysMax = 64;

// The views live as long as what they were decoded from.
struct ProgramWish {
  std::string_view platform{};  // by its whole name
  std::string_view folder{};    // that relative paths of its compiler begin in
  std::string_view text{};
  std::string_view options{};
  std::vector<std::string_view> keys{};  // of the products, one for each kind of device
  friend bool operator==(const ProgramWish&, const ProgramWish&) = default;
};

std::string encode_program_wish(const ProgramWish& wish);
// Nothing when it is not what is written here.
std::optional<ProgramWish> decode_program_wish(BytesView bytes);

// What a wish's file is called: as its first key.
bool is_wish_name(std::string_view name) noexcept;

}  // namespace larder::format
