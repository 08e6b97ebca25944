// Any bytes given as a program's product, and as what a layer wishes to be made: what is read encodes to the
// same bytes, and no name of a file can be made of it but a key's.
#include <algorithm>
#include <cstdint>

#include "format/program_product.hpp"
#include "format/program_wish.hpp"
#include "fuzz/demand.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder;
  const BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto product = format::decode_program_product(bytes);
  demand(!product || format::encode_program_product(*product) == as_text(bytes));
  const auto wish = format::decode_program_wish(bytes);
  if (!wish) return 0;
  demand(product.has_value() && !wish->keys.empty());
  demand(std::all_of(wish->keys.begin(), wish->keys.end(), format::is_wish_name));
  demand(format::encode_program_wish(*wish) == as_text(bytes));
  return 0;
}
