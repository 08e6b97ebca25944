// Which builds libraries are of, as a Cache keeps it between starts: the identity of each, and what was
// looked at to know it. Encode and decode, no I/O; any text may be decoded.
//
//   builds := "larder builds 1" build*                 each line but the first begins with a line end
//   build  := "B " name ("I " line)* ("S " device " " inode " " size " " mtime " " ctime " " path)*
//
// Numbers are decimal, mtime and ctime signed nanoseconds. An identity is lines, each with its end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/file_closures.hpp"

namespace larder::format {

struct LookedFile {
  std::string path{};
  FileStamp stamp{};  // zero: there is nothing
  friend bool operator==(const LookedFile&, const LookedFile&) = default;
};

struct LibraryBuild {
  std::string identity{};
  std::vector<LookedFile> looked{};
  friend bool operator==(const LibraryBuild&, const LibraryBuild&) = default;
};

using LibraryBuilds = std::map<std::string, LibraryBuild>;

// No name and no path holds a line end, and none is empty.
std::string encode_library_builds(const LibraryBuilds& builds);
// Nothing where anything of it is not what is written here.
std::optional<LibraryBuilds> decode_library_builds(std::string_view text);

}  // namespace larder::format
