#include "build/thin_archive.hpp"

#include "base/number.hpp"
#include "build/archive.hpp"

namespace larder::build {
std::optional<std::vector<std::string>> thin_members(std::string_view path, std::string_view bytes) {
  if (!bytes.starts_with(kThinArchive)) return std::nullopt;
  const auto all = read_archive(bytes);
  if (!all) return std::nullopt;
  const std::size_t slash = path.rfind('/');
  const std::string_view directory = path.substr(0, slash == path.npos ? 0 : slash + 1);
  std::vector<std::string> members;
  std::string_view long_names;
  for (const ArchiveMember& member : *all) {
    std::string_view name = member.name;
    if (name == "//") long_names = member.bytes;
    if (member.is_table) continue;
    if (name.starts_with('/')) {
      const auto place = to_number<std::size_t>(name.substr(1));
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
