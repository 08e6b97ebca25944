#include "format/program_product.hpp"

#include <limits>
#include <stdexcept>

#include "format/little_endian.hpp"

namespace larder::format {
namespace {

template <std::integral Integer>
void append(std::string& to, Integer value) {
  std::byte bytes[sizeof(Integer)];
  store(bytes, value);
  to.append(reinterpret_cast<const char*>(bytes), sizeof bytes);
}

std::uint32_t short_size(std::string_view text) {
  if (text.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw std::length_error("a program's log or artefact name of 4 GiB or more");
  }
  return static_cast<std::uint32_t>(text.size());
}

class Reader {
 public:
  explicit Reader(BytesView rest) noexcept : rest_(rest) {}

  template <std::integral Integer>
  bool read(Integer& value) noexcept {
    BytesView bytes;
    if (!read(bytes, sizeof value)) return false;
    value = load<Integer>(bytes.data());
    return true;
  }
  bool read(BytesView& bytes, std::uint64_t size) noexcept {
    if (size > rest_.size()) return false;
    bytes = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return true;
  }
  bool read(std::string_view& text, std::uint64_t size) noexcept {
    BytesView bytes;
    if (!read(bytes, size)) return false;
    text = as_text(bytes);
    return true;
  }
  bool at_end() const noexcept { return rest_.empty(); }

 private:
  BytesView rest_;
};

}  // namespace

std::string encode_program_product(const ProgramProductView& product) {
  std::size_t size = 32 + product.log.size();
  for (const ProgramPiece& piece : product.pieces) size += 12 + piece.name.size() + piece.bytes.size();
  std::string bytes;
  bytes.reserve(size);
  append(bytes, kProgramProductVersion);
  append(bytes, static_cast<std::uint8_t>(product.is_failure ? 1 : 0));
  append(bytes, product.code);
  append(bytes, short_size(product.log));
  bytes += product.log;
  append(bytes, static_cast<std::uint32_t>(product.pieces.size()));
  for (const ProgramPiece& piece : product.pieces) {
    append(bytes, short_size(piece.name));
    append(bytes, static_cast<std::uint64_t>(piece.bytes.size()));
    bytes += piece.name;
    bytes += as_text(piece.bytes);
  }
  return bytes;
}

std::optional<ProgramProductView> decode_program_product(BytesView bytes) {
  Reader reader(bytes);
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
