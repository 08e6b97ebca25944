// Any bytes given as an entry file: what is accepted is exactly what the encoder writes, and views stay
// inside. A fuzzer does not find checksums, so the head's is also made right, and what then is accepted is
// checked too.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "format/entry.hpp"
#include "format/little_endian.hpp"

namespace {

using namespace larder;

void check(bool holds) {
  if (!holds) std::abort();
}

bool is_inside(BytesView part, BytesView whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void decode(BytesView file) {
  format::EntryHead head;
  BytesView product;
  // As the store reads it: the header alone first, then the head, then all.
  const Reason by_header =
      format::decode_entry_header(file.first(std::min<std::size_t>(file.size(), 128)), file.size(), head);
  if (by_header == Reason::none) {
    check(head.head_size + head.product_size == file.size());
    format::decode_entry_head(file.first(head.head_size), head);
  }
  if (format::decode_entry(file, head, product) != Reason::none) return;
  check(by_header == Reason::none);
  check(is_inside(as_bytes(head.recipe), file) && is_inside(as_bytes(head.log), file) &&
        is_inside(head.attachment, file) && is_inside(product, file));
  check(format::encode_entry_head(head, product) + std::string(as_text(product)) == as_text(file));
}

// The bytes with both checksums made right.
std::string forged(BytesView file) {
  std::string copy(as_text(file));
  auto* const at = reinterpret_cast<std::byte*>(copy.data());
  format::EntryHead head;
  if (format::decode_entry_header(as_bytes(copy), copy.size(), head) != Reason::none) return copy;
  const auto put = [&](std::size_t where, const format::Checksum& sum) {
    format::store(at + where, sum.low);
    format::store(at + where + 8, sum.high);
  };
  put(80, format::checksum(as_bytes(copy).subspan(head.head_size)));
  put(head.head_size - format::kChecksumSize,
      format::checksum(as_bytes(copy).first(head.head_size - format::kChecksumSize)));
  return copy;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const BytesView file(reinterpret_cast<const std::byte*>(data), size);
  decode(file);
  decode(as_bytes(forged(file)));
  return 0;
}
