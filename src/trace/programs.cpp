#include "trace/programs.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>

namespace larder::trace {
namespace {

constexpr std::size_t kHeadBytes = 256;  // as much as the kernel looks at
#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#else
constexpr unsigned kMachine = EM_AARCH64;
#endif

bool read_at(int fd, off_t offset, void* into, std::size_t size) noexcept {
  return ::pread(fd, into, size, offset) == static_cast<ssize_t>(size);
}

// False: it is none that this machine starts by itself.
bool find_loader(int fd, std::string& loader) {
  Elf64_Ehdr header{};
  if (!read_at(fd, 0, &header, sizeof header) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != kMachine || header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    if (!read_at(fd, static_cast<off_t>(header.e_phoff + i * sizeof part), &part, sizeof part)) return false;
    if (part.p_type != PT_INTERP) continue;
    if (part.p_filesz == 0 || part.p_filesz > PATH_MAX) return false;
    loader.resize(part.p_filesz);
    if (!read_at(fd, static_cast<off_t>(part.p_offset), loader.data(), loader.size())) return false;
    loader.resize(std::strlen(loader.c_str()));
    return true;
  }
  return true;
}

bool has_rights_of_its_own(int fd) noexcept {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return false;
  return (status.st_mode & (S_ISUID | S_ISGID)) != 0 ||
         ::fgetxattr(fd, "security.capability", nullptr, 0) > 0;
}

}  // namespace

Program look_at_program(const std::string& path) {
  Program program;
  // Whatever else it is, it is not waited for.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    program.trouble = "it started " + path + ", which cannot be read";
    return program;
  }
  program.has_rights = has_rights_of_its_own(fd);
  if (program.has_rights)
    program.trouble = "it started " + path + ", which cannot have its owner's rights while it is traced";
  std::array<char, kHeadBytes> head{};
  const ssize_t size = ::pread(fd, head.data(), head.size(), 0);
  const std::string_view text(head.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  if (text.starts_with("#!")) {
    const std::string_view line = text.substr(2, text.find('\n', 2) - 2);
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin != line.npos)
      program.interpreter = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  } else if (!text.starts_with(ELFMAG) || !find_loader(fd, program.interpreter)) {
    // The shell reads it itself, or the kernel has been told of another reader.
    program.trouble = "it started " + path + ", which is no program of this machine";
  }
  ::close(fd);
  return program;
}

}  // namespace larder::trace
