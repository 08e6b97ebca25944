#include "format/frame.hpp"

#include "base/assert.hpp"
#include "format/checksum.hpp"
#include "format/little_endian.hpp"

namespace larder::format {
namespace {

constexpr std::string_view kFrameMark = "LNF\n";

}  // namespace

void append_frame(std::string& note, std::string_view payload) {
  LARDER_ASSERT(payload.size() <= kFramePayloadMax);
  std::byte header[kFrameHeaderSize];
  std::memcpy(header, kFrameMark.data(), kFrameMark.size());
  store(header + 4, static_cast<std::uint32_t>(payload.size()));
  store(header + 8, checksum(as_bytes(payload)).low);
  note.append(reinterpret_cast<const char*>(header), sizeof header);
  note.append(payload);
}

void for_each_frame(std::string_view note, const std::function<bool(std::string_view)>& visit) {
  for (std::size_t at = note.find(kFrameMark); at != std::string_view::npos; at = note.find(kFrameMark, at)) {
    const std::string_view rest = note.substr(at);
    if (rest.size() < kFrameHeaderSize) return;
    const std::byte* const header = as_bytes(rest).data();
    const std::size_t size = load<std::uint32_t>(header + 4);
    if (size > kFramePayloadMax || size > rest.size() - kFrameHeaderSize ||
        checksum(as_bytes(rest.substr(kFrameHeaderSize, size))).low != load<std::uint64_t>(header + 8)) {
      ++at;
      continue;
    }
    if (!visit(rest.substr(kFrameHeaderSize, size))) return;
    at += kFrameHeaderSize + size;
  }
}

}  // namespace larder::format
