#include "build/root.hpp"

#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/utf8.hpp"
#include "build/archive.hpp"
#include "build/paths.hpp"

namespace larder::build {
namespace {

// One placeholder for each name of the root; a `@` of the text itself is doubled.
constexpr std::array<std::string_view, 2> kPlaceholders = {"@{root}", "@{root as called}"};
constexpr std::size_t kPathMin = 4;  // shorter ones stand everywhere
constexpr std::array<const char*, 6> kVersionControls = {".git", ".hg", ".svn", ".jj", ".bzr", "_darcs"};

bool is_same_directory(const std::string& a, const std::string& b) {
  struct stat first {};
  struct stat second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool is_file_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-' || c == '+' || c == '~' || c == '@' || static_cast<unsigned char>(c) >= 0x80;
}

bool is_wide_in(std::string_view bytes, std::string_view path, std::size_t width) {
  std::string wide;
  for (const char c : path) {
    wide += c;
    wide.append(width - 1, '\0');
  }
  wide.resize(wide.size() - (width - 1));  // in either order of bytes
  return bytes.find(wide) != bytes.npos;
}

// An ELF file of this machine's byte order, all of whose sections are as they will be read.
template <typename Header, typename Section>
bool is_plain_elf(std::string_view bytes) {
  Header header{};
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Section) || header.e_shnum == 0) return false;
  const std::size_t count = header.e_shnum;
  if (header.e_shoff > bytes.size() || (bytes.size() - header.e_shoff) / sizeof(Section) < count)
    return false;
  std::vector<Section> sections(count);
  std::memcpy(sections.data(), bytes.data() + header.e_shoff, count * sizeof(Section));
  if (header.e_shstrndx >= count) return false;
  const Section& names = sections[header.e_shstrndx];
  if (names.sh_offset > bytes.size() || names.sh_size > bytes.size() - names.sh_offset) return false;
  const std::string_view text = bytes.substr(names.sh_offset, names.sh_size);
  for (const Section& section : sections) {
    if ((section.sh_flags & SHF_COMPRESSED) != 0 || section.sh_name >= text.size()) return false;
    const std::string_view rest = text.substr(section.sh_name);
    const std::string_view name = rest.substr(0, rest.find('\0'));
    for (const std::string_view hidden : {".zdebug", ".gnu.lto", ".gnu.debuglto", ".llvm", ".gnu_debugdata"})
      if (name.starts_with(hidden)) return false;
  }
  return true;
}

}  // namespace

Root::Root(std::vector<std::string> paths) : paths_(std::move(paths)) {
  for (std::string& path : paths_)
    while (path.ends_with('/')) path.pop_back();
  if (paths_.empty() || paths_[0].size() < kPathMin) paths_.clear();
  if (paths_.size() == 2 && (paths_[1].size() < kPathMin || paths_[1] == paths_[0])) paths_.pop_back();
}

Result<Root> Root::find(const std::string& named) {
  const std::string working = real_path(".");
  if (working.empty())
    return fail(Code::io, std::string("name the working directory: ") + std::strerror(errno));
  std::string root = working;
  if (!named.empty()) {
    root = real_path(named.c_str());
    struct stat status {};
    if (root.empty() || ::stat(root.c_str(), &status) != 0)
      return fail(Code::not_found, "the root " + named + ": " + std::strerror(errno));
    if (!S_ISDIR(status.st_mode))
      return fail(Code::invalid_argument, "the root " + named + " is no directory");
  } else {
    for (std::string each = working; each.size() >= kPathMin; each.resize(each.rfind('/'))) {
      const auto has = [&](const char* name) { return ::access((each + '/' + name).c_str(), F_OK) == 0; };
      if (!std::any_of(kVersionControls.begin(), kVersionControls.end(), has)) continue;
      root = each;
      break;
    }
  }
  std::vector<std::string> paths{root};
  // Compilers take the working directory's name from PWD where that is one of its names.
  const char* const called = std::getenv("PWD");
  if (called != nullptr && called[0] == '/' && is_same_directory(called, working)) {
    std::string logical = called;
    while (logical.size() > 1 && !is_same_directory(logical, root)) logical.resize(logical.rfind('/'));
    if (logical.size() > 1) paths.push_back(std::move(logical));
  }
  return Root(std::move(paths));
}

std::string Root::portable(std::string_view text) const {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t which = paths_.size();
    for (std::size_t i = 0; i < paths_.size(); ++i) {
      const std::string& path = paths_[i];
      if (!text.substr(at).starts_with(path)) continue;
      // What goes on there is a longer name, of something else.
      if (at + path.size() < text.size() && is_file_name_char(text[at + path.size()])) continue;
      if (which == paths_.size() || path.size() > paths_[which].size()) which = i;
    }
    if (which != paths_.size()) {
      result += kPlaceholders[which];
      at += paths_[which].size();
      continue;
    }
    if (text[at] == '@') result += '@';
    result += text[at++];
  }
  return result;
}

std::string Root::portable_path(std::string_view path) const {
  std::string result;
  for (std::size_t i = 0; i < paths_.size() && result.empty(); ++i) {
    const std::string& root = paths_[i];
    if (!path.starts_with(root) || (path.size() > root.size() && path[root.size()] != '/')) continue;
    result = kPlaceholders[i];
    path.remove_prefix(root.size());
  }
  for (const char c : path) {
    if (c == '@') result += '@';
    result += c;
  }
  return result;
}

std::optional<std::string> Root::path_of(std::string_view portable) const {
  std::string path;
  for (std::size_t i = 0; i < kPlaceholders.size(); ++i) {
    if (!portable.starts_with(kPlaceholders[i])) continue;
    if (i >= paths_.size()) return std::nullopt;
    path = paths_[i];
    portable.remove_prefix(kPlaceholders[i].size());
    break;
  }
  for (std::size_t at = 0; at < portable.size(); ++at) {
    if (portable[at] == '@' && (++at == portable.size() || portable[at] != '@')) return std::nullopt;
    path += portable[at];
  }
  return path;
}

bool Root::is_in(std::string_view bytes) const {
  if (paths_.empty()) return true;
  return std::any_of(paths_.begin(), paths_.end(), [&](const std::string& path) {
    return bytes.find(path) != bytes.npos || is_wide_in(bytes, path, 2) || is_wide_in(bytes, path, 4);
  });
}

unsigned Root::named_in(std::string_view text) const {
  const std::string with = portable(text);
  unsigned names = 0;
  for (std::size_t i = 0; i < paths_.size(); ++i)
    if (with.find(kPlaceholders[i]) != with.npos) names |= 1u << i;
  return names;
}

bool Root::is_reentered_by(std::string_view text) const {
  for (const std::string& path : paths_) {
    const std::string back = ".." + path.substr(path.rfind('/'));
    for (std::size_t at = text.find(back); at != text.npos; at = text.find(back, at + 1))
      if (at + back.size() == text.size() || !is_file_name_char(text[at + back.size()])) return true;
  }
  return false;
}

bool Root::is_plain() const {
  return std::all_of(paths_.begin(), paths_.end(), [](const std::string& path) {
    return std::all_of(path.begin(), path.end(), [](char c) {
      return c == '/' || (is_file_name_char(c) && static_cast<unsigned char>(c) < 0x80);
    });
  });
}

std::string Root::identity() const {
  std::string all;
  for (const std::string& path : paths_) all.append(path) += '\0';
  return all;
}

bool can_hide_text(std::string_view bytes) {
  if (const auto members = archive_members(bytes))
    return std::any_of(members->begin(), members->end(), [](std::string_view member) {
      return archive_members(member).has_value() || can_hide_text(member);  // none within another
    });
  if (bytes.starts_with(ELFMAG) && bytes.size() > EI_DATA) {
    const unsigned char order = __BYTE_ORDER == __LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
    if (static_cast<unsigned char>(bytes[EI_DATA]) != order) return true;
    return static_cast<unsigned char>(bytes[EI_CLASS]) == ELFCLASS64
               ? !is_plain_elf<Elf64_Ehdr, Elf64_Shdr>(bytes)
               : !is_plain_elf<Elf32_Ehdr, Elf32_Shdr>(bytes);
  }
  while (!bytes.empty()) {
    const std::size_t size = utf8_sequence_size(bytes);
    if (size == 0 || bytes[0] == '\0') return true;
    bytes.remove_prefix(size);
  }
  return false;
}

}  // namespace larder::build
