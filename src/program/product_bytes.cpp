#include "program/product_bytes.hpp"

#include "format/program_product.hpp"

namespace larder::detail {

Bytes encode_product(const ProgramProduct& product) {
  format::ProgramProductView view{product.is_failure, product.code, product.log, {}};
  for (const Artefact& each : product.artefacts) view.pieces.push_back({each.name, each.bytes.view()});
  return Bytes(format::encode_program_product(view));
}

std::optional<ProgramProduct> decode_product(const Bytes& bytes) {
  const auto view = format::decode_program_product(bytes.view());
  if (!view) return std::nullopt;
  ProgramProduct product{view->is_failure, view->code, std::string(view->log), {}};
  const auto owner = std::make_shared<const Bytes>(bytes);
  for (const format::ProgramPiece& piece : view->pieces) {
    product.artefacts.push_back({std::string(piece.name), Bytes(owner, piece.bytes)});
  }
  return product;
}

}  // namespace larder::detail
