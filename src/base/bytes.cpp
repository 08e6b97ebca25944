#include "larder/bytes.hpp"

namespace larder {

Bytes::Bytes(std::string text) {
  auto owner = std::make_shared<const std::string>(std::move(text));
  view_ = as_bytes(*owner);
  owner_ = std::move(owner);
}

Bytes::Bytes(BytesView view) : Bytes(std::string(as_text(view))) {}

}  // namespace larder
