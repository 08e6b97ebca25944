#include "format/program_product.hpp"

#include <limits>
#include <stdexcept>

#include "format/byte_reader.hpp"

namespace larder::format {
namespace {

std::uint32_t short_size(std::string_view text) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("a program's log or artefact name of 4 GiB or more");
  }
  return static_cast<std::uint32_t>(text.size());
}

}  // namespace

std::string encode_program_product(const ProgramProductView& product) {
  std::size_t size = 32 + product.log.size();
  for (const ProgramPiece& piece : product.pieces) size += 12 + piece.name.size() + piece.bytes.size();
  std::string bytes;
  bytes.reserve(size);
  append_integer(bytes, kProgramProductVersion);
  append_integer(bytes, static_cast<std::uint8_t>(product.is_failure ? 1 : 0));
  append_integer(bytes, product.code);
  append_integer(bytes, short_size(product.log));
  bytes += product.log;
  append_integer(bytes, static_cast<std::uint32_t>(product.pieces.size()));
  for (const ProgramPiece& piece : product.pieces) {
    append_integer(bytes, short_size(piece.name));
    append_integer(bytes, static_cast<std::uint64_t>(piece.bytes.size()));
    bytes += piece.name;
    bytes += as_text(piece.bytes);
  }
  return bytes;
}

std::optional<ProgramProductView> decode_program_product(BytesView bytes) {
  ByteReader reader(bytes);
  ProgramProductView product;
  std::uint8_t version = 0;
  std::uint8_t verdict = 0;
  std::uint32_t log_size = 0;
  std::uint32_t count = 0;
  if (!reader.read(version) || version != kProgramProductVersion) return std::nullopt;
  if (!reader.read(verdict) || verdict > 1) return std::nullopt;
  product.is_failure = verdict == 1;
  if (!reader.read(product.code) || !reader.read(log_size) || !reader.read(product.log, log_size) ||
      !reader.read(count)) {
    return std::nullopt;
  }
  for (std::uint32_t i = 0; i < count; ++i) {
    ProgramPiece piece;
    std::uint32_t name_size = 0;
    std::uint64_t size = 0;
    if (!reader.read(name_size) || !reader.read(size) || !reader.read(piece.name, name_size) ||
        !reader.read(piece.bytes, size)) {
      return std::nullopt;
    }
    product.pieces.push_back(piece);
  }
  if (!reader.at_end()) return std::nullopt;
  return product;
}

}  // namespace larder::format
