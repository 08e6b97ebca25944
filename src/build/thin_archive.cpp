#include "build/thin_archive.hpp"

#include <charconv>

namespace larder::build {
namespace {

constexpr std::size_t kHeader = 60;    // of each member: name, times and owners, size, and an end mark
constexpr std::size_t kNameSize = 16;  // blanks behind it
constexpr std::size_t kSizeAt = 48;
constexpr std::size_t kSizeSize = 10;
constexpr std::string_view kEndMark = "`\n";

std::string_view without_blanks(std::string_view text) {
  const std::size_t last = text.find_last_not_of(' ');
  return text.substr(0, last == text.npos ? 0 : last + 1);
}

std::optional<std::size_t> number(std::string_view text) {
  std::size_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::vector<std::string>> thin_members(std::string_view path, std::string_view bytes) {
  if (!bytes.starts_with(kThinArchive)) return std::nullopt;
  const std::size_t slash = path.rfind('/');
  const std::string_view directory = path.substr(0, slash == path.npos ? 0 : slash + 1);
  std::vector<std::string> members;
  std::string_view long_names;
  std::size_t at = kThinArchive.size();
  while (at < bytes.size()) {
    if (bytes.size() - at < kHeader) return std::nullopt;
    const std::string_view header = bytes.substr(at, kHeader);
    const auto size = number(without_blanks(header.substr(kSizeAt, kSizeSize)));
    if (!size || !header.ends_with(kEndMark)) return std::nullopt;
    at += kHeader;
    std::string_view name = without_blanks(header.substr(0, kNameSize));
    if (name == "/" || name == "/SYM64/" || name == "//") {  // symbols and long names: they are in it
      if (*size > bytes.size() - at) return std::nullopt;
      if (name == "//") long_names = bytes.substr(at, *size);
      at += *size + *size % 2;
      continue;
    }
    if (name.starts_with('/')) {
      const auto place = number(name.substr(1));
      if (!place || *place >= long_names.size()) return std::nullopt;
      name = long_names.substr(*place);
      const std::size_t end = name.find('\n');
      if (end == name.npos) return std::nullopt;
      name = name.substr(0, end);
    }
    if (name.ends_with('/')) name.remove_suffix(1);
    if (name.empty()) return std::nullopt;
    members.push_back((name.starts_with('/') ? std::string() : std::string(directory)) + std::string(name));
  }
  return members;
}

}  // namespace larder::build
