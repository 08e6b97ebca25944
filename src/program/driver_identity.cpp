#include "larder/driver_identity.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <span>
#include <vector>

#include "base/file.hpp"
#include "base/hex.hpp"
#include "base/transfer.hpp"
#include "recipe/canonical.hpp"

extern char** environ;

namespace larder {
namespace {

// A loaded library as its headers in memory describe it. What it names lies there, too.
struct Library {
  std::string_view path;
  std::string_view file;  // the last component of it
  std::string_view name;  // its soname, or its file
  const ElfW(Phdr) * headers = nullptr;
  std::size_t header_count = 0;
  ElfW(Addr) base = 0;
  const ElfW(Dyn) * dynamic = nullptr;  // null: it depends on nothing
  const char* strings = nullptr;
  bool is_reached = false;

  bool holds(const void* address) const noexcept {
    const auto at = reinterpret_cast<ElfW(Addr)>(address);
    return std::any_of(headers, headers + header_count, [&](const ElfW(Phdr) & each) {
      return each.p_type == PT_LOAD && at >= base + each.p_vaddr && at < base + each.p_vaddr + each.p_memsz;
    });
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

std::string build_id_of(const Library& library) {
  for (std::size_t i = 0; i < library.header_count; ++i) {
    const ElfW(Phdr)& header = library.headers[i];
    if (header.p_type != PT_NOTE) continue;
    std::string id =
        build_id_in(reinterpret_cast<const char*>(library.base + header.p_vaddr), header.p_memsz);
    if (!id.empty()) return id;
  }
  return {};
}

void read_dynamic(const ElfW(Dyn) * dynamic, Library& library) {
  for (const ElfW(Dyn)* each = dynamic; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag != DT_STRTAB) continue;
    // The loader has put the address there, except where it leaves the section read-only.
    const ElfW(Addr) at = each->d_un.d_ptr;
    library.strings = reinterpret_cast<const char*>(at < library.base ? at + library.base : at);
  }
  if (library.strings == nullptr) return;
  library.dynamic = dynamic;
  for (const ElfW(Dyn)* each = dynamic; each->d_tag != DT_NULL; ++each) {
    if (each->d_tag == DT_SONAME) library.name = library.strings + each->d_un.d_val;
  }
}

int add_library(dl_phdr_info* info, std::size_t, void* to) {
  Library library;
  library.path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  library.file = library.path.substr(library.path.rfind('/') + 1);
  library.name = library.file;
  library.base = info->dlpi_addr;
  library.headers = info->dlpi_phdr;
  library.header_count = info->dlpi_phnum;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    // The kernel's own library is not relocated in place as the others are, and depends on nothing.
    if (header.p_type == PT_DYNAMIC && !library.path.empty() && library.path.front() == '/') {
      read_dynamic(reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + header.p_vaddr), library);
    }
  }
  static_cast<std::vector<Library>*>(to)->push_back(library);
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

struct NamedBuild {
  std::string name;
  std::string id;    // empty: the file has to be read
  std::string path;  // of that
};

// Of the library that holds `address`, of those with a part of `also` in their paths, and of all that they
// depend on.
std::vector<NamedBuild> builds_of_loaded(const void* address, std::span<const std::string_view> also) {
  std::vector<Library> libraries;
  libraries.reserve(32);
  ::dl_iterate_phdr(add_library, &libraries);
  std::vector<Library*> reached;
  const auto reach = [&](Library& library) {
    if (!library.is_reached) reached.push_back(&library);
    library.is_reached = true;
  };
  for (Library& library : libraries) {
    if (library.holds(address)) reach(library);
  }
  if (reached.empty()) return {};
  for (Library& library : libraries) {
    for (const std::string_view part : also) {
      if (library.path.find(part) != std::string_view::npos) reach(library);
    }
  }
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Library& by = *reached[i];
    for (const ElfW(Dyn)* each = by.dynamic; each != nullptr && each->d_tag != DT_NULL; ++each) {
      if (each->d_tag != DT_NEEDED) continue;
      const std::string_view name = by.strings + each->d_un.d_val;
      for (Library& library : libraries) {
        if (library.name == name || library.file == name) reach(library);
      }
    }
  }
  std::vector<NamedBuild> builds;
  builds.reserve(reached.size());
  for (const Library* library : reached) {
    NamedBuild& build = builds.emplace_back();
    build.name = library->name;
    build.id = build_id_of(*library);
    if (build.id.empty()) build.path = library->path.empty() ? "/proc/self/exe" : library->path;
  }
  return builds;
}

}  // namespace

std::string library_identity(const void* address, std::span<const std::string_view> also) {
  struct Call {
    const void* address;
    std::span<const std::string_view> also;
    std::vector<NamedBuild> builds;
    std::exception_ptr thrown;
  };
  Call call{address, also, {}, {}};
  // What the loader lists stays as it is while it is asked: so this asks it again from within, and copies
  // only what comes out.
  const auto from_within = [](dl_phdr_info*, std::size_t, void* to) {
    Call& asked = *static_cast<Call*>(to);
    try {
      asked.builds = builds_of_loaded(asked.address, asked.also);
    } catch (...) {  // the loader is no place to pass through
      asked.thrown = std::current_exception();
    }
    return 1;
  };
  ::dl_iterate_phdr(from_within, &call);
  if (call.thrown) std::rethrow_exception(call.thrown);
  std::vector<std::string> lines;
  lines.reserve(call.builds.size());
  for (NamedBuild& build : call.builds) {
    if (build.id.empty()) build.id = digest_of_file(build.path);
    if (build.id.empty()) return {};
    lines.push_back(std::move(build.name.append(" ").append(build.id).append("\n")));
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
    // Most lines have nothing to do with it, and their ends need not be looked for.
    const auto begins = [at = *each](std::string_view prefix) {
      std::size_t i = 0;
      while (i < prefix.size() && at[i] == prefix[i]) ++i;  // which ends at the end of either
      return i == prefix.size();
    };
    if (!std::any_of(prefixes.begin(), prefixes.end(), begins)) continue;
    const std::string_view line(*each);
    const std::string_view name = line.substr(0, line.find('='));
    if (std::find(except.begin(), except.end(), name) != except.end()) continue;
    lines.push_back(line);
  }
  std::sort(lines.begin(), lines.end());
  std::string identity;
  for (const std::string_view line : lines) identity.append(line).push_back('\n');
  return identity;
}

}  // namespace larder
