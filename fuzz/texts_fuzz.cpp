// Any bytes given as an attachment of texts: what comes out is bounded, and comes out again of what it is
// encoded to.
#include <cstdint>
#include <cstdlib>

#include "format/texts.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace larder;
  const BytesView attachment(reinterpret_cast<const std::byte*>(data), size);
  constexpr std::uint64_t kSizeMax = 1 << 20;
  const std::vector<format::Text> texts = format::texts_of(attachment, kSizeMax);
  std::uint64_t sum = 0;
  for (const format::Text& one : texts) {
    sum += one.text.size();
    if (one.text.size() > one.size) std::abort();
    if (!format::text_of(attachment, one.name, kSizeMax)) continue;
  }
  if (sum > kSizeMax || texts.size() > format::kTextsMax) std::abort();
  const std::string encoded = format::encode_texts(texts);
  if (format::texts_of(as_bytes(encoded), kSizeMax) != texts) std::abort();
  return 0;
}
