#include "build/archive.hpp"

#include <ar.h>

#include <algorithm>

#include "base/number.hpp"

namespace larder::build {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(ar_hdr);
static_assert(kHeaderBytes == 60);
constexpr std::size_t kNameBytes = 16;
constexpr std::size_t kSizeAt = 48;
constexpr std::size_t kSizeBytes = 10;
constexpr std::size_t kEndAt = 58;

}  // namespace

std::optional<std::vector<ArchiveMember>> read_archive(std::string_view bytes) {
  const bool is_thin = bytes.starts_with(kThinArchive);
  if (!is_thin && !bytes.starts_with(ARMAG)) return std::nullopt;
  std::vector<ArchiveMember> members;
  bytes.remove_prefix(SARMAG);
  while (!bytes.empty()) {
    if (bytes.size() < kHeaderBytes || bytes.substr(kEndAt, 2) != ARFMAG) return std::nullopt;
    ArchiveMember member;
    member.name = bytes.substr(0, kNameBytes);
    member.name = member.name.substr(0, member.name.find_last_not_of(' ') + 1);
    member.is_table = member.name == "/" || member.name == "//" || member.name == "/SYM64/";
    std::string_view digits = bytes.substr(kSizeAt, kSizeBytes);
    const auto given = take_number<std::size_t>(digits);
    if (!given || digits.find_first_not_of(' ') != digits.npos) return std::nullopt;
    const std::size_t size = *given;
    bytes.remove_prefix(kHeaderBytes);
    if (!is_thin || member.is_table) {
      if (size > bytes.size()) return std::nullopt;
      member.bytes = bytes.substr(0, size);
      bytes.remove_prefix(std::min(size + size % 2, bytes.size()));  // the next begins at an even place
    }
    members.push_back(member);
  }
  return members;
}

std::optional<std::vector<std::string_view>> archive_members(std::string_view bytes) {
  const auto all = read_archive(bytes);
  if (!all) return std::nullopt;
  std::vector<std::string_view> members;
  if (bytes.starts_with(kThinArchive)) return members;
  for (const ArchiveMember& member : *all)
    if (!member.is_table) members.push_back(member.bytes);
  return members;
}

}  // namespace larder::build
