#include "program/library_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "base/file.hpp"
#include "base/hex.hpp"
#include "base/transfer.hpp"
#include "recipe/canonical.hpp"

namespace larder {
namespace {

namespace fs = std::filesystem;

struct LibraryFile {
  std::string id;
  std::vector<std::string> needed;
};

// Reads single parts of a library: some have a hundred megabytes.
class ElfFile {
 public:
  explicit ElfFile(const std::string& path)
      : files_(FileSystem::posix()), file_(files_, files_.open_at(AT_FDCWD, path.c_str(), O_RDONLY)) {}

  // Without `needed` where nobody asks for it: that lies elsewhere in the file.
  bool read(LibraryFile& library, bool with_needed = true) {
    ElfW(Ehdr) header;
    if (!file_.is_open() || !get(header, 0)) return false;
    constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != kClass) return false;
    std::string table;
    if (!get(table, header.e_phoff, header.e_phnum * sizeof(ElfW(Phdr)))) return false;
    std::vector<ElfW(Phdr)> segments(header.e_phnum);
    std::memcpy(segments.data(), table.data(), table.size());
    for (const auto& segment : segments) {
      if (segment.p_type == PT_NOTE && library.id.empty()) read_notes(segment, library);
      if (with_needed && segment.p_type == PT_DYNAMIC && !read_needed(segment, segments, library))
        return false;
    }
    if (library.id.empty()) library.id = digest();
    return !library.id.empty();
  }

 private:
  static constexpr std::size_t kPartMax = 1 << 20;
  static constexpr std::size_t kNameMax = 256;  // a file's name is no longer

  template <typename T>
  bool get(T& value, std::uint64_t offset) {
    return read(reinterpret_cast<std::byte*>(&value), sizeof value, offset);
  }
  bool get(std::string& text, std::uint64_t offset, std::size_t size) {
    if (size > kPartMax) return false;
    text.resize(size);
    return read(reinterpret_cast<std::byte*>(text.data()), size, offset);
  }
  // Headers and notes lie at the beginning as a rule, which is read once.
  bool read(std::byte* to, std::size_t size, std::uint64_t offset) {
    if (!has_head_) {
      has_head_ = true;
      const ssize_t got = files_.read_at(file_.fd(), head_, sizeof head_, 0);
      head_size_ = got < 0 ? 0 : static_cast<std::size_t>(got);
    }
    if (offset <= head_size_ && size <= head_size_ - offset) {
      std::memcpy(to, head_ + offset, size);
      return true;
    }
    return read_fully(files_, file_.fd(), to, size, offset) == 0;
  }

  void read_notes(const ElfW(Phdr) & segment, LibraryFile& library) {
    std::string notes;
    if (!get(notes, segment.p_offset, segment.p_filesz)) return;
    for (std::size_t at = 0; at + sizeof(ElfW(Nhdr)) <= notes.size();) {
      ElfW(Nhdr) note;
      std::memcpy(&note, notes.data() + at, sizeof note);
      const std::size_t name = at + sizeof note;
      const std::size_t content = name + ((note.n_namesz + 3u) & ~std::size_t{3});
      const std::size_t next = content + ((note.n_descsz + 3u) & ~std::size_t{3});
      if (next > notes.size()) return;
      if (note.n_type == NT_GNU_BUILD_ID &&
          std::string_view(notes).substr(name, 4) == std::string_view("GNU\0", 4)) {
        library.id = to_hex(as_bytes(std::string_view(notes).substr(content, note.n_descsz)));
        return;
      }
      at = next;
    }
  }

  bool read_needed(const ElfW(Phdr) & segment, const std::vector<ElfW(Phdr)>& segments,
                   LibraryFile& library) {
    std::string text;
    if (!get(text, segment.p_offset, segment.p_filesz)) return false;
    std::vector<ElfW(Dyn)> entries(text.size() / sizeof(ElfW(Dyn)));
    std::memcpy(entries.data(), text.data(), entries.size() * sizeof(ElfW(Dyn)));
    std::uint64_t strings = 0;
    std::uint64_t strings_size = 0;
    for (const auto& entry : entries) {
      if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
      if (entry.d_tag == DT_STRSZ) strings_size = entry.d_un.d_val;
    }
    for (const auto& load : segments) {
      if (load.p_type != PT_LOAD || strings < load.p_vaddr || strings >= load.p_vaddr + load.p_filesz)
        continue;
      // Name by name: a compiler's string table has megabytes.
      for (const auto& entry : entries) {
        if (entry.d_tag != DT_NEEDED || entry.d_un.d_val >= strings_size) continue;
        const std::uint64_t left = strings_size - entry.d_un.d_val;
        std::string name;
        if (!get(name, strings - load.p_vaddr + load.p_offset + entry.d_un.d_val,
                 static_cast<std::size_t>(std::min<std::uint64_t>(left, kNameMax)))) {
          return false;
        }
        const std::size_t end = name.find('\0');
        if (end == std::string::npos) return false;
        library.needed.push_back(name.substr(0, end));
      }
      return true;
    }
    return strings == 0;
  }

  std::string digest() {
    struct stat status {};
    if (files_.status(file_.fd(), status) < 0) return {};
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    if (read_fully(files_, file_.fd(), reinterpret_cast<std::byte*>(bytes.data()), bytes.size(), 0) != 0)
      return {};
    const canonical::Digest found = canonical::digest_of(as_bytes(bytes));
    return to_hex(std::as_bytes(std::span(found)));
  }

  FileSystem& files_;
  File file_;
  bool has_head_ = false;
  std::size_t head_size_ = 0;
  char head_[1024];
};

const std::vector<std::string>& library_folders() {
  static const auto* const folders = new std::vector<std::string> {
#if defined(__x86_64__)
    "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu", "/lib/aarch64-linux-gnu",
#endif
        "/usr/local/lib", "/usr/lib64", "/lib64", "/usr/lib", "/lib"
  };
  return *folders;
}

}  // namespace

std::string find_library(std::string_view name) {
  std::error_code ignored;
  if (name.starts_with('/')) return fs::exists(name, ignored) ? std::string(name) : std::string();
  for (const std::string& folder : library_folders()) {
    std::string path = folder + '/' + std::string(name);
    if (fs::exists(path, ignored)) return path;
  }
  return {};
}

// Drivers share most of what they depend on, and each library is read once.
struct LibraryFiles::Known {
  std::map<std::string, std::optional<LibraryFile>> by_path;  // nothing: it cannot be read
  std::map<std::string, bool> there;                          // by path

  const std::optional<LibraryFile>& read(const std::string& path) {
    const auto [found, is_new] = by_path.try_emplace(path);
    LibraryFile library;
    if (is_new && ElfFile(path).read(library)) found->second = std::move(library);
    return found->second;
  }
  bool is_there(const std::string& path) {
    const auto [found, is_new] = there.try_emplace(path);
    if (is_new) found->second = ::access(path.c_str(), F_OK) == 0;
    return found->second;
  }
};

LibraryFiles::LibraryFiles() : known_(std::make_unique<Known>()) {}
LibraryFiles::~LibraryFiles() = default;

std::string LibraryFiles::identity(const std::string& path, const std::string& plugins,
                                   std::vector<std::string>* looked) {
  std::vector<std::string> paths{path};
  std::error_code ignored;
  if (looked != nullptr) *looked = library_folders();
  if (looked != nullptr && !plugins.empty()) looked->push_back(plugins);
  if (!plugins.empty()) {
    for (const auto& each : fs::directory_iterator(plugins, ignored)) {
      if (each.is_regular_file(ignored)) paths.push_back(each.path().string());
    }
  }
  std::set<std::string> seen;
  std::set<std::string> lines;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string folder = paths[i].substr(0, paths[i].rfind('/') + 1);
    const std::string name = paths[i].substr(folder.size());
    if (!seen.insert(name).second) continue;
    if (looked != nullptr) {
      looked->push_back(paths[i]);
      looked->push_back(folder);
    }
    const std::optional<LibraryFile>& library = known_->read(paths[i]);
    if (!library) return {};
    lines.insert(name + ' ' + library->id + '\n');
    for (const std::string& needed : library->needed) {
      if (seen.contains(needed)) continue;
      std::string found = folder + needed;
      if (!known_->is_there(found)) found = find_library(needed);
      if (found.empty()) return {};
      paths.push_back(std::move(found));
    }
  }
  std::string identity;
  for (const std::string& line : lines) identity += line;
  return identity;
}

std::string library_file_identity(const std::string& path, const std::string& plugins,
                                  std::vector<std::string>* looked) {
  return LibraryFiles().identity(path, plugins, looked);
}

std::string library_file_line(const std::string& path) {
  LibraryFile library;
  if (!ElfFile(path).read(library, false)) return {};
  return path.substr(path.rfind('/') + 1) + ' ' + library.id + '\n';
}

bool is_whole_elf(std::string_view bytes) noexcept {
  ElfW(Ehdr) header;
  if (bytes.size() < sizeof header) return false;
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shoff == 0) return false;
  // Linkers write the table of sections last.
  const std::uint64_t table = std::uint64_t{header.e_shnum} * header.e_shentsize;
  return header.e_shoff <= bytes.size() && table <= bytes.size() - header.e_shoff;
}

}  // namespace larder
