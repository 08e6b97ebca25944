// The members of an archive as `ar` makes them. Any bytes may be looked at.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace larder::build {

inline constexpr std::string_view kThinArchive = "!<thin>\n";

struct ArchiveMember {
  std::string_view name;   // as it stands in the header, without the blanks behind it
  std::string_view bytes;  // none of a thin archive's files: they lie elsewhere
  bool is_table = false;   // of symbols or of long names: no file
};

// All of them in their order; none: `bytes` are no whole archive.
std::optional<std::vector<ArchiveMember>> read_archive(std::string_view bytes);

// What is in the files of an archive, without its tables of names and symbols; none: `bytes` are no whole
// archive. A thin one holds none: its files lie elsewhere.
std::optional<std::vector<std::string_view>> archive_members(std::string_view bytes);

}  // namespace larder::build
