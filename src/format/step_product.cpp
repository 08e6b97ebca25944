#include "format/step_product.hpp"

#include <limits>
#include <stdexcept>

#include "format/byte_reader.hpp"

namespace larder::format {

std::string encode_step_product(const StepProduct& product) {
  if (product.said.size() > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("a command that said 4 GiB or more");
  std::size_t size = 16 + product.said.size();
  for (const MadeFile& made : product.made) size += 27 + made.bytes.size();
  std::string bytes;
  bytes.reserve(size);
  append_integer(bytes, kStepProductVersion);
  append_integer(bytes, static_cast<std::uint8_t>(product.is_elsewhere ? 1 : 0));
  append_integer(bytes, product.duration_ms);
  append_integer(bytes, static_cast<std::uint32_t>(product.said.size()));
  bytes += product.said;
  append_integer(bytes, static_cast<std::uint32_t>(product.made.size()));
  for (const MadeFile& made : product.made) {
    append_integer(bytes, static_cast<std::uint8_t>(made.form));
    append_integer(bytes, made.mode);
    append_integer(bytes, made.quick.low);
    append_integer(bytes, made.quick.high);
    append_integer(bytes, static_cast<std::uint64_t>(made.bytes.size()));
    bytes += as_text(made.bytes);
  }
  return bytes;
}

std::optional<StepProduct> decode_step_product(BytesView bytes) {
  ByteReader reader(bytes);
  StepProduct product;
  std::uint8_t version = 0;
  std::uint8_t scope = 0;
  std::uint32_t said_size = 0;
  std::uint32_t count = 0;
  if (!reader.read(version) || version != kStepProductVersion) return std::nullopt;
  if (!reader.read(scope) || scope > 1) return std::nullopt;
  product.is_elsewhere = scope == 1;
  if (!reader.read(product.duration_ms) || !reader.read(said_size) || !reader.read(product.said, said_size) ||
      !reader.read(count)) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    MadeFile made;
    std::uint8_t form = 0;
    std::uint64_t size = 0;
    if (!reader.read(form) || form > static_cast<std::uint8_t>(MadeForm::depfile) ||
        !reader.read(made.mode) || !reader.read(made.quick.low) || !reader.read(made.quick.high) ||
        !reader.read(size) || !reader.read(made.bytes, size)) {
      return std::nullopt;
    }
    made.form = static_cast<MadeForm>(form);
    product.made.push_back(made);
  }
  if (!reader.at_end()) return std::nullopt;
  return product;
}

}  // namespace larder::format
