#include "format/library_builds.hpp"

#include <algorithm>
#include <cstdint>

#include "base/number.hpp"

namespace larder::format {
namespace {

constexpr std::string_view kFirstLine = "larder builds 1";

// A number, and the blank behind it.
template <typename Number>
bool read_field(std::string_view& text, Number& to) {
  const auto number = take_number<Number>(text);
  if (!number || !text.starts_with(' ')) return false;
  text.remove_prefix(1);
  to = *number;
  return true;
}

bool read_stamp(std::string_view& text, FileStamp& stamp) {
  return read_field(text, stamp.device) && read_field(text, stamp.inode) && read_field(text, stamp.size) &&
         read_field(text, stamp.mtime_ns) && read_field(text, stamp.ctime_ns);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

std::string encode_library_builds(const LibraryBuilds& builds) {
  std::string text(kFirstLine);
  for (const auto& [name, build] : builds) {
    text.append("\nB ").append(name);
    std::string_view rest = build.identity;
    while (!rest.empty()) text.append("\nI ").append(take_line(rest));
    for (const auto& [path, stamp] : build.looked) {
      text.append("\nS ");
      for (const std::uint64_t number : {stamp.device, stamp.inode, stamp.size})
        text.append(std::to_string(number)).push_back(' ');
      for (const std::int64_t number : {stamp.mtime_ns, stamp.ctime_ns})
        text.append(std::to_string(number)).push_back(' ');
      text.append(path);
    }
  }
  return text;
}

std::optional<LibraryBuilds> decode_library_builds(std::string_view text) {
  if (take_line(text) != kFirstLine) return std::nullopt;
  LibraryBuilds builds;
  LibraryBuild* build = nullptr;
  while (!text.empty()) {
    std::string_view line = take_line(text);
    const std::string_view kind = line.substr(0, 2);
    line.remove_prefix(kind.size());
    LookedFile looked;
    if (kind == "B " && !line.empty()) {
      const auto [place, is_new] = builds.try_emplace(std::string(line));
      if (!is_new) return std::nullopt;
      build = &place->second;
    } else if (kind == "I " && build != nullptr && build->looked.empty()) {
      build->identity.append(line).push_back('\n');
    } else if (kind == "S " && build != nullptr && read_stamp(line, looked.stamp) && !line.empty()) {
      looked.path = line;
      build->looked.push_back(std::move(looked));
    } else {
      return std::nullopt;
    }
  }
  return builds;
}

}  // namespace larder::format
