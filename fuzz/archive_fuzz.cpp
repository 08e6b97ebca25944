// Any bytes given as an archive: its members lie in it, what is written of them is read back the same, and
// the files that a thin one names have names.
#include <cstdint>
#include <string>

#include "build/archive.hpp"
#include "build/root.hpp"
#include "build/thin_archive.hpp"
#include "fuzz/demand.hpp"

namespace {

using namespace larder;

std::string written(std::string_view magic, const std::vector<build::ArchiveMember>& members) {
  std::string bytes(magic);
  for (const build::ArchiveMember& member : members) {
    std::string head(member.name);
    head.resize(48, ' ');
    head += std::to_string(member.bytes.size());
    head.resize(58, ' ');
    bytes.append(head).append("`\n").append(member.bytes);
    if (member.bytes.size() % 2 != 0) bytes += '\n';
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)build::can_hide_text(bytes);
  const auto all = build::read_archive(bytes);
  const auto files = build::archive_members(bytes);
  const auto named = build::thin_members("lib/it.a", bytes);
  demand(files.has_value() == all.has_value());
  if (!all) {
    demand(!named);
    return 0;
  }
  const auto lies_within = [&](std::string_view part) {
    return part.empty() || (part.data() >= bytes.data() && part.data() + part.size() <= bytes.data() + size);
  };
  const bool is_thin = bytes.starts_with(build::kThinArchive);
  std::size_t no_tables = 0;
  for (const build::ArchiveMember& member : *all) {
    demand(lies_within(member.name) && lies_within(member.bytes));
    demand(member.is_table || !is_thin || member.bytes.empty());
    no_tables += member.is_table ? 0 : 1;
  }
  demand(files->size() == (is_thin ? 0 : no_tables));
  demand(!named || (is_thin && named->size() == no_tables));
  for (std::size_t i = 0; named && i < named->size(); ++i) {
    const std::string& name = (*named)[i];
    demand(name.starts_with('/') || (name.starts_with("lib/") && name.size() > 4));
  }

  const std::string again_bytes = written(bytes.substr(0, 8), *all);
  const auto again = build::read_archive(again_bytes);
  demand(again && again->size() == all->size());
  for (std::size_t i = 0; i < all->size(); ++i) {
    const build::ArchiveMember& one = (*all)[i];
    const build::ArchiveMember& other = (*again)[i];
    demand(one.name == other.name && one.bytes == other.bytes && one.is_table == other.is_table);
  }
  demand(build::thin_members("lib/it.a", again_bytes) == named);
  return 0;
}
