#include "build/archive.hpp"

#include <ar.h>

#include <algorithm>
#include <charconv>

namespace larder::build {
namespace {

constexpr std::string_view kThin = "!<thin>\n";
constexpr std::size_t kHeaderBytes = sizeof(ar_hdr);
static_assert(kHeaderBytes == 60);
constexpr std::size_t kNameBytes = 16;
constexpr std::size_t kSizeAt = 48;
constexpr std::size_t kSizeBytes = 10;
constexpr std::size_t kEndAt = 58;

}  // namespace

std::optional<std::vector<std::string_view>> archive_members(std::string_view bytes) {
  const bool is_thin = bytes.starts_with(kThin);
  if (!is_thin && !bytes.starts_with(ARMAG)) return std::nullopt;
  std::vector<std::string_view> members;
  bytes.remove_prefix(SARMAG);
  while (!bytes.empty()) {
    if (bytes.size() < kHeaderBytes || bytes.substr(kEndAt, 2) != ARFMAG) return std::nullopt;
    const std::string_view name = bytes.substr(0, kNameBytes);
    const std::string_view digits = bytes.substr(kSizeAt, kSizeBytes);
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (error != std::errc() ||
        digits.find_first_not_of(' ', static_cast<std::size_t>(end - digits.data())) != digits.npos)
      return std::nullopt;
    bytes.remove_prefix(kHeaderBytes);
    const bool is_table = name.starts_with("/ ") || name.starts_with("// ") || name.starts_with("/SYM64/ ");
    if (is_thin && !is_table) continue;
    if (size > bytes.size()) return std::nullopt;
    if (!is_table) members.push_back(bytes.substr(0, size));
    bytes.remove_prefix(std::min(size + size % 2, bytes.size()));  // the next begins at an even place
  }
  return members;
}

}  // namespace larder::build
