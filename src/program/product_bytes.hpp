// A ProgramProduct as the bytes that a Cache keeps, and back. Any thread.
#pragma once

#include <optional>

#include "larder/detail/program_products.hpp"

namespace larder::detail {

Bytes encode_product(const ProgramProduct& product);
// Its artefacts share the memory of `bytes`. Nothing when these are no product of this version.
std::optional<ProgramProduct> decode_product(const Bytes& bytes);

}  // namespace larder::detail
