// Any bytes given as a step's product: what is read encodes to the same bytes.
#include <cstdint>

#include "format/step_product.hpp"
#include "fuzz/demand.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder;
  const BytesView bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto product = format::decode_step_product(bytes);
  demand(!product || format::encode_step_product(*product) == as_text(bytes));
  return 0;
}
