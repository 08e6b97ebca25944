#include "larder/driver_identity.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/file.hpp"
#include "base/hex.hpp"
#include "base/transfer.hpp"
#include "recipe/canonical.hpp"

extern char** environ;

namespace larder {
namespace {

// A loaded library as its headers in memory describe it.
struct Library {
  std::string path;
  std::string name;  // its soname, or the last component of its path
  std::string build_id;
  std::vector<std::string> needed;
  ElfW(Addr) base = 0;
  std::vector<std::pair<ElfW(Addr), ElfW(Addr)>> ranges;

  bool holds(const void* address) const noexcept {
    const auto at = reinterpret_cast<ElfW(Addr)>(address);
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const auto& range) { return at >= range.first && at < range.second; });
  }
};

std::string build_id_in(const char* notes, std::size_t size) {
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes, sizeof note);
    const std::size_t name_size = (note.n_namesz + 3u) & ~std::size_t{3};
    const std::size_t whole = sizeof note + name_size + ((note.n_descsz + 3u) & ~std::size_t{3});
    if (whole > size) break;
    const char* const name = notes + sizeof note;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      return to_hex(as_bytes(std::string_view(name + name_size, note.n_descsz)));
    }
    notes += whole;
    size -= whole;
  }
  return {};
}

std::string last_component(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

void read_dynamic(const ElfW(Dyn) * dynamic, Library& library) {
  const char* strings = nullptr;
  for (const ElfW(Dyn)* each = dynamic; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_STRTAB) continue;
    // The loader has put the address there, except where it leaves the section read-only.
    const ElfW(Addr) at = each->d_un.d_ptr;
    strings = reinterpret_cast<const char*>(at < library.base ? at + library.base : at);
  }
  if (strings == nullptr) return;
  for (const ElfW(Dyn)* each = dynamic; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_NEEDED) library.needed.emplace_back(strings + each->d_un.d_val);
    if (each->d_tag == DT_SONAME) library.name = strings + each->d_un.d_val;
  }
}

int add_library(dl_phdr_info* info, std::size_t, void* to) {
  Library library;
  library.path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  library.name = last_component(library.path);
  library.base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const ElfW(Addr) at = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD) library.ranges.emplace_back(at, at + header.p_memsz);
    if (header.p_type == PT_NOTE && library.build_id.empty()) {
      library.build_id = build_id_in(reinterpret_cast<const char*>(at), header.p_memsz);
    }
    // The kernel's own library is not relocated in place as the others are, and depends on nothing.
    if (header.p_type == PT_DYNAMIC && !library.path.empty() && library.path.front() == '/') {
      read_dynamic(reinterpret_cast<const ElfW(Dyn)*>(at), library);
    }
  }
  static_cast<std::vector<Library>*>(to)->push_back(std::move(library));
  return 0;
}

// Empty when the file cannot be read.
std::string digest_of_file(const std::string& path) {
  FileSystem& files = FileSystem::posix();
  const File file(files, files.open_at(AT_FDCWD, path.c_str(), O_RDONLY));
  struct stat status {};
  if (!file.is_open() || files.status(file.fd(), status) < 0) return {};
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  if (read_fully(files, file.fd(), reinterpret_cast<std::byte*>(bytes.data()), bytes.size(), 0) != 0)
    return {};
  const canonical::Digest digest = canonical::digest_of(as_bytes(bytes));
  return to_hex(std::as_bytes(std::span(digest)));
}

}  // namespace

std::string library_identity(const void* address, std::span<const std::string_view> also) {
  std::vector<Library> libraries;
  ::dl_iterate_phdr(add_library, &libraries);
  std::vector<const Library*> reached;
  const auto reach = [&](const Library& library) {
    if (std::find(reached.begin(), reached.end(), &library) == reached.end()) reached.push_back(&library);
  };
  for (const Library& library : libraries) {
    if (library.holds(address)) reach(library);
  }
  if (reached.empty()) return {};
  for (const Library& library : libraries) {
    for (const std::string_view part : also) {
      if (library.path.find(part) != std::string::npos) reach(library);
    }
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const std::string& name : reached[i]->needed) {
      for (const Library& library : libraries) {
        if (library.name == name || last_component(library.path) == name) reach(library);
      }
    }
  }
  std::vector<std::string> lines;
  for (const Library* library : reached) {
    std::string id = library->build_id;
    if (id.empty()) id = digest_of_file(library->path.empty() ? "/proc/self/exe" : library->path);
    if (id.empty()) return {};
    lines.push_back(library->name + ' ' + id + '\n');
  }
  std::sort(lines.begin(), lines.end());
  std::string identity;
  for (const std::string& line : lines) identity += line;
  return identity;
}

std::string processor_identity() {
  FileSystem& files = FileSystem::posix();
  const File file(files, files.open_at(AT_FDCWD, "/proc/cpuinfo", O_RDONLY));
  if (!file.is_open()) return {};
  // The first processor's paragraph stands at the beginning and fits.
  std::string text(8192, '\0');
  const ssize_t size = files.read_at(file.fd(), text.data(), text.size(), 0);
  if (size <= 0) return {};
  text.resize(static_cast<std::size_t>(size));
  text.resize(std::min(text.find("\n\n"), text.size()));
  std::string identity;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    constexpr std::string_view kLines[] = {"vendor_id", "cpu family",      "model",    "stepping",   "flags",
                                           "Features",  "CPU implementer", "CPU part", "CPU variant"};
    for (const std::string_view name : kLines) {
      if (!line.starts_with(name)) continue;
      identity.append(line).push_back('\n');
      break;
    }
    begin = end + 1;
  }
  return identity;
}

std::string environment_identity(std::span<const std::string_view> prefixes,
                                 std::span<const std::string_view> except) {
  std::vector<std::string_view> lines;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view line(*each);
    const std::string_view name = line.substr(0, line.find('='));
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    if (!std::any_of(prefixes.begin(), prefixes.end(), begins)) continue;
    if (std::find(except.begin(), except.end(), name) != except.end()) continue;
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  std::string identity;
  for (const std::string_view line : lines) identity.append(line).push_back('\n');
  return identity;
}

}  // namespace larder
