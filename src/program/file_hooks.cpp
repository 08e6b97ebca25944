#include "program/file_hooks.hpp"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <string_view>
#include <vector>

#include "base/fixed_text.hpp"
#include "base/mutex.hpp"
#include "program/file_recording.hpp"

namespace larder {
namespace {

static_assert(sizeof(struct stat) == sizeof(struct stat64), "one function serves both names");

bool is_for_writing(int flags) noexcept {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}

int told_open(const char* path, int flags, int fd) noexcept {
  if (is_for_writing(flags)) {
    FileRecording::tell_forbidden("writes", path);
  } else {
    FileRecording::tell_opened(path, fd < 0 ? errno : 0, fd);
  }
  return fd;
}

int hooked_open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return told_open(path, flags, ::open(path, flags, mode));
}

int hooked_openat(int dir, const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  const int fd = ::openat(dir, path, flags, mode);
  if (dir != AT_FDCWD && path != nullptr && *path != '/') {
    FileRecording::tell_forbidden("opens files relative to a folder of its own:", path);
    return fd;
  }
  return told_open(path, flags, fd);
}

int hooked_open_2(const char* path, int flags) {
  return told_open(path, flags, ::open(path, flags));
}

FILE* hooked_fopen(const char* path, const char* mode) {
  FILE* const file = ::fopen(path, mode);
  if (std::strpbrk(mode, "wa+") != nullptr) {
    FileRecording::tell_forbidden("writes", path);
  } else {
    FileRecording::tell_opened(path, file == nullptr ? errno : 0, file == nullptr ? -1 : ::fileno(file));
  }
  return file;
}

FILE* hooked_freopen(const char* path, const char* mode, FILE* before) {
  FileRecording::tell_forbidden("reopens a stream on", path == nullptr ? "?" : path);
  return ::freopen(path, mode, before);
}

int told_look(const char* path, int code, const struct stat* status) noexcept {
  FileRecording::tell_looked(path, code != 0 ? errno : 0, code == 0 ? status->st_mode : 0);
  return code;
}
int hooked_stat(const char* path, struct stat* status) {
  return told_look(path, ::stat(path, status), status);
}
// What a link is, and not what it leads to, would decide.
int hooked_lstat(const char* path, struct stat* status) {
  const int code = ::lstat(path, status);
  if (code == 0 && S_ISLNK(status->st_mode)) FileRecording::tell_forbidden("looks at the link", path);
  return code == 0 && S_ISLNK(status->st_mode) ? code : told_look(path, code, status);
}
// What glibc offered in the place of stat before 2.33, of one version only on 64-bit machines: libraries of
// older compilers ask for it.
int hooked_xstat(int, const char* path, struct stat* status) {
  return hooked_stat(path, status);
}
int hooked_lxstat(int, const char* path, struct stat* status) {
  return hooked_lstat(path, status);
}
int hooked_fstatat(int dir, const char* path, struct stat* status, int flags) {
  const int code = ::fstatat(dir, path, status, flags);
  if (path == nullptr || *path == '\0')
    return code;  // of a descriptor, which was heard of when it was opened
  if ((dir != AT_FDCWD && *path != '/') || (code == 0 && S_ISLNK(status->st_mode))) {
    FileRecording::tell_forbidden("looks in ways that are not followed at", path);
    return code;
  }
  return told_look(path, code, status);
}
int hooked_fxstatat(int, int dir, const char* path, struct stat* status, int flags) {
  return hooked_fstatat(dir, path, status, flags);
}
int hooked_statx(int dir, const char* path, int flags, unsigned mask, struct statx* status) {
  if (path != nullptr && *path != '\0') FileRecording::tell_forbidden("asks by statx for", path);
  return ::statx(dir, path, flags, mask, status);
}

int hooked_access(const char* path, int mode) {
  const int code = ::access(path, mode);
  const int error = errno;
  struct stat status {};
  const bool is_there = ::stat(path, &status) == 0;
  FileRecording::tell_looked(path, is_there ? 0 : error, status.st_mode);
  if (is_there && code != 0) FileRecording::tell_forbidden("may not use", path);
  errno = error;
  return code;
}

DIR* hooked_opendir(const char* path) {
  FileRecording::tell_forbidden("lists the folder", path);
  return ::opendir(path);
}
// How a file that is open is really called: clang holds it against the name in a source, to warn of one that
// is written in other letters.
bool is_descriptor(std::string_view path) noexcept {
  return path.starts_with("/proc/self/fd/");
}
ssize_t hooked_readlink(const char* path, char* to, size_t size) {
  const ssize_t count = ::readlink(path, to, size);
  if (count >= 0 && !is_descriptor(path)) FileRecording::tell_forbidden("follows the link", path);
  return count;
}
// What comes of a path without links follows from the path and from what is there.
char* hooked_realpath(const char* path, char* to) {
  char* const resolved = ::realpath(path, to);
  const int error = errno;
  struct stat status {};
  const bool is_there = resolved != nullptr && ::stat(path, &status) == 0;
  FileRecording::tell_looked(path, is_there ? 0 : error, status.st_mode);
  if (resolved != nullptr && std::strcmp(resolved, path) != 0)
    FileRecording::tell_forbidden("resolves", path);
  errno = error;
  return resolved;
}

int hooked_chdir(const char* path) {
  FileRecording::tell_forbidden("goes to the folder", path);
  return ::chdir(path);
}
// A folder that is there already is as good as made.
int hooked_mkdir(const char* path, mode_t mode) {
  const int code = ::mkdir(path, mode);
  if (code == 0 || errno != EEXIST) FileRecording::tell_forbidden("makes the folder", path);
  return code;
}
int hooked_mkstemp(char* path) {
  const int fd = ::mkstemp(path);
  FileRecording::tell_forbidden("writes", path);
  return fd;
}
int hooked_mkostemp(char* path, int flags) {
  const int fd = ::mkostemp(path, flags);
  FileRecording::tell_forbidden("writes", path);
  return fd;
}
int hooked_mkstemps(char* path, int suffix) {
  const int fd = ::mkstemps(path, suffix);
  FileRecording::tell_forbidden("writes", path);
  return fd;
}
int hooked_mkostemps(char* path, int suffix, int flags) {
  const int fd = ::mkostemps(path, suffix, flags);
  FileRecording::tell_forbidden("writes", path);
  return fd;
}
char* hooked_mkdtemp(char* path) {
  char* const made = ::mkdtemp(path);
  FileRecording::tell_forbidden("makes the folder", path);
  return made;
}
int hooked_link(const char* from, const char* to) {
  FileRecording::tell_forbidden("writes", to);
  return ::link(from, to);
}
int hooked_symlink(const char* from, const char* to) {
  FileRecording::tell_forbidden("writes", to);
  return ::symlink(from, to);
}
int hooked_unlink(const char* path) {
  FileRecording::tell_forbidden("removes", path);
  return ::unlink(path);
}
int hooked_remove(const char* path) {
  FileRecording::tell_forbidden("removes", path);
  return ::remove(path);
}
int hooked_rename(const char* from, const char* to) {
  FileRecording::tell_forbidden("removes", from);
  FileRecording::tell_forbidden("writes", to);
  return ::rename(from, to);
}
pid_t hooked_fork() {
  FileRecording::tell_forbidden("starts another process");
  return ::fork();
}
int hooked_system(const char* command) {
  FileRecording::tell_forbidden("starts another process:", command == nullptr ? "" : command);
  return ::system(command);
}
FILE* hooked_popen(const char* command, const char* mode) {
  FileRecording::tell_forbidden("starts another process:", command);
  return ::popen(command, mode);
}

int hooked_spawn(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                 const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  FileRecording::tell_forbidden("starts another process:", path);
  return ::posix_spawn(child, path, actions, attributes, arguments, environment);
}
int hooked_spawnp(pid_t* child, const char* path, const posix_spawn_file_actions_t* actions,
                  const posix_spawnattr_t* attributes, char* const* arguments, char* const* environment) {
  FileRecording::tell_forbidden("starts another process:", path);
  return ::posix_spawnp(child, path, actions, attributes, arguments, environment);
}

// Compilers ask by it for the number of their thread.
bool reaches_files(long number) noexcept {
  switch (number) {
    case SYS_openat:
    case SYS_openat2:
    case SYS_newfstatat:
    case SYS_statx:
    case SYS_faccessat:
    case SYS_readlinkat:
    case SYS_getdents64:
    case SYS_execve:
    case SYS_clone:
    case SYS_open_by_handle_at:
    case SYS_io_uring_setup:
#if defined(__x86_64__)
    case SYS_open:
    case SYS_creat:
    case SYS_stat:
    case SYS_lstat:
    case SYS_access:
    case SYS_readlink:
    case SYS_getdents:
    case SYS_fork:
    case SYS_vfork:
#endif
      return true;
    default:
      return false;
  }
}
long hooked_syscall(long number, ...) {
  long given[6];
  va_list more;
  va_start(more, number);
  for (long& each : given) each = va_arg(more, long);
  va_end(more);
  if (reaches_files(number)) FileRecording::tell_forbidden("asks the operating system by itself for files");
  return ::syscall(number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

// C++'s streams open files within their own library. A file is opened for the recording before the stream
// opens it: what changes in between shows in the end.
void tell_stream(const char* path, std::ios_base::openmode mode) noexcept {
  if (!FileRecording::is_any()) return;
  if ((mode & (std::ios_base::out | std::ios_base::app | std::ios_base::trunc)) != 0) {
    FileRecording::tell_forbidden("writes", path);
    return;
  }
  const int before = errno;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  FileRecording::tell_opened(path, fd < 0 ? errno : 0, fd);
  if (fd >= 0) ::close(fd);
  errno = before;
}
// These stand for members: the object comes first.
std::filebuf* hooked_filebuf(std::filebuf* self, const char* path, std::ios_base::openmode mode) {
  tell_stream(path, mode);
  return self->open(path, mode);
}
void hooked_ifstream(void* self, const char* path, std::ios_base::openmode mode) {
  tell_stream(path, mode);
  new (self) std::ifstream(path, mode);
}
void hooked_ifstream_of_string(void* self, const std::string& path, std::ios_base::openmode mode) {
  tell_stream(path.c_str(), mode);
  new (self) std::ifstream(path, mode);
}

struct Hook {
  std::string_view name;
  void* function;
};

template <typename Function>
void* address_of(Function* function) noexcept {
  return reinterpret_cast<void*>(function);
}

const Hook* hooks_begin() noexcept {
  static const Hook hooks[] = {
      {"open", address_of(hooked_open)},
      {"open64", address_of(hooked_open)},
      {"__open_2", address_of(hooked_open_2)},
      {"__open64_2", address_of(hooked_open_2)},
      {"openat", address_of(hooked_openat)},
      {"openat64", address_of(hooked_openat)},
      {"fopen", address_of(hooked_fopen)},
      {"fopen64", address_of(hooked_fopen)},
      {"freopen", address_of(hooked_freopen)},
      {"freopen64", address_of(hooked_freopen)},
      {"stat", address_of(hooked_stat)},
      {"stat64", address_of(hooked_stat)},
      {"lstat", address_of(hooked_lstat)},
      {"lstat64", address_of(hooked_lstat)},
      {"__xstat", address_of(hooked_xstat)},
      {"__xstat64", address_of(hooked_xstat)},
      {"__lxstat", address_of(hooked_lxstat)},
      {"__lxstat64", address_of(hooked_lxstat)},
      {"fstatat", address_of(hooked_fstatat)},
      {"fstatat64", address_of(hooked_fstatat)},
      {"__fxstatat", address_of(hooked_fxstatat)},
      {"__fxstatat64", address_of(hooked_fxstatat)},
      {"statx", address_of(hooked_statx)},
      {"access", address_of(hooked_access)},
      {"opendir", address_of(hooked_opendir)},
      {"readlink", address_of(hooked_readlink)},
      {"realpath", address_of(hooked_realpath)},
      {"chdir", address_of(hooked_chdir)},
      {"mkdir", address_of(hooked_mkdir)},
      {"unlink", address_of(hooked_unlink)},
      {"remove", address_of(hooked_remove)},
      {"rename", address_of(hooked_rename)},
      {"fork", address_of(hooked_fork)},
      {"vfork", address_of(hooked_fork)},
      {"system", address_of(hooked_system)},
      {"popen", address_of(hooked_popen)},
      {"posix_spawn", address_of(hooked_spawn)},
      {"posix_spawnp", address_of(hooked_spawnp)},
      {"syscall", address_of(hooked_syscall)},
      {"mkstemp", address_of(hooked_mkstemp)},
      {"mkstemp64", address_of(hooked_mkstemp)},
      {"mkostemp", address_of(hooked_mkostemp)},
      {"mkostemp64", address_of(hooked_mkostemp)},
      {"mkstemps", address_of(hooked_mkstemps)},
      {"mkstemps64", address_of(hooked_mkstemps)},
      {"mkostemps", address_of(hooked_mkostemps)},
      {"mkostemps64", address_of(hooked_mkostemps)},
      {"mkdtemp", address_of(hooked_mkdtemp)},
      {"link", address_of(hooked_link)},
      {"symlink", address_of(hooked_symlink)},
      {"_ZNSt13basic_filebufIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode", address_of(hooked_filebuf)},
      {"_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode", address_of(hooked_ifstream)},
      {"_ZNSt14basic_ifstreamIcSt11char_traitsIcEEC1ERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_"
       "Openmode",
       address_of(hooked_ifstream_of_string)},
      {{}, nullptr},
  };
  return hooks;
}

// Ways to a file that no hook stands in: a library that may take one is not recorded.
constexpr FixedText<108> kUnheard[] = {
    "openat2",
    "open_by_handle_at",
    "creat",
    "creat64",
    "faccessat",
    "euidaccess",
    "eaccess",
    "ftw",
    "ftw64",
    "nftw",
    "nftw64",
    "fts_open",
    "fts64_open",
    "glob",
    "glob64",
    "scandir",
    "scandir64",
    "__realpath_chk",
    "readlinkat",
    "canonicalize_file_name",
    "clone",
    "io_uring_setup",
    "renameat",
    "unlinkat",
    "tmpfile",
    "tmpfile64",
    "fopencookie",
    "name_to_handle_at",
    // NOLINTNEXTLINE(bugprone-suspicious-missing-comma): one name, longer than a line
    "_ZNSt13basic_filebufIcSt11char_traitsIcEE4openERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_"
    "Openmode",
    "_ZNSt13basic_fstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode",
    "_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1EPKcSt13_Ios_Openmode",
    "_ZNSt14basic_ofstreamIcSt11char_traitsIcEEC1ERKNSt7__cxx1112basic_stringIcS1_SaIcEEESt13_Ios_Openmode",
    "_ZNSt14basic_ifstreamIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode",
    "_ZNSt14basic_ofstreamIcSt11char_traitsIcEE4openEPKcSt13_Ios_Openmode",
};

const Hook* hook_for(std::string_view name) noexcept {
  for (const Hook* hook = hooks_begin(); hook->function != nullptr; ++hook) {
    if (hook->name == name) return hook;
  }
  return nullptr;
}

bool is_unheard(std::string_view name) noexcept {
  for (const auto& each : kUnheard) {
    if (each == name) return true;
  }
  return false;
}

#if defined(__x86_64__)
constexpr bool kCanHook = true;
bool is_address_of_symbol(std::uint64_t info) noexcept {
  const auto type = ELF64_R_TYPE(info);
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}
#elif defined(__aarch64__)
constexpr bool kCanHook = true;
bool is_address_of_symbol(std::uint64_t info) noexcept {
  const auto type = ELF64_R_TYPE(info);
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
}
#else
constexpr bool kCanHook = false;
bool is_address_of_symbol(std::uint64_t) noexcept {
  return false;
}
#endif

constinit Mutex patching;

// Writes one slot of a library's table, which the loader may have made read-only.
bool put(ElfW(Addr) at, void* function, ElfW(Addr) readonly_begin, ElfW(Addr) readonly_end)
    REQUIRES(patching) {
  auto* const slot = reinterpret_cast<std::atomic<void*>*>(at);
  if (slot->load(std::memory_order_relaxed) == function) return true;
  const auto page = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
  const bool is_readonly = at >= readonly_begin && at < readonly_end;
  void* const begin = reinterpret_cast<void*>(at & ~(page - 1));
  if (is_readonly && ::mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  slot->store(function, std::memory_order_release);
  if (is_readonly) ::mprotect(begin, page, PROT_READ);
  return true;
}

struct Segment {
  const link_map* library;
  ElfW(Addr) begin = 0;
  ElfW(Addr) end = 0;
};

int find_readonly(dl_phdr_info* info, std::size_t, void* to) {
  auto& segment = *static_cast<Segment*>(to);
  if (info->dlpi_addr != segment.library->l_addr || info->dlpi_name == nullptr ||
      std::strcmp(info->dlpi_name, segment.library->l_name) != 0) {
    return 0;
  }
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    if (header.p_type != PT_GNU_RELRO) continue;
    const auto page = static_cast<ElfW(Addr)>(::sysconf(_SC_PAGESIZE));
    segment.begin = (info->dlpi_addr + header.p_vaddr) & ~(page - 1);
    segment.end = (info->dlpi_addr + header.p_vaddr + header.p_memsz) & ~(page - 1);
  }
  return 1;
}

// The hooks stay where they are for as long as the process lives, and so must what stands behind them.
bool stay_loaded() noexcept {
  static constinit std::atomic<bool> stays{false};
  if (stays.load(std::memory_order_relaxed)) return true;
  Dl_info mine{};
  Dl_info programs{};
  if (::dladdr(address_of(&stay_loaded), &mine) == 0) return false;
  // What is part of the program itself does not leave.
  const bool is_program = ::dladdr(reinterpret_cast<const void*>(::getauxval(AT_PHDR)), &programs) != 0 &&
                          programs.dli_fbase == mine.dli_fbase;
  if (!is_program) {
    void* const self = ::dlopen(mine.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (self == nullptr) return false;
    ::dlclose(self);
  }
  stays.store(true, std::memory_order_relaxed);
  return true;
}

}  // namespace

std::string hook_files(const void* address) {
  if (!kCanHook) return "what its compiler does with files cannot be heard of on this processor";
  Dl_info info{};
  link_map* library = nullptr;
  if (::dladdr1(address, &info, reinterpret_cast<void**>(&library), RTLD_DL_LINKMAP) == 0 ||
      library == nullptr) {
    return "its compiler is no library that can be listened to";
  }
  const auto in_place = [&](ElfW(Addr) at) { return at < library->l_addr ? at + library->l_addr : at; };
  const ElfW(Rela) * tables[2] = {};
  std::size_t counts[2] = {};
  std::size_t relative = 0;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  for (const ElfW(Dyn)* each = library->l_ld; each->d_tag != DT_NULL; ++each) {
    const auto pointer = [&] { return in_place(each->d_un.d_ptr); };
    switch (each->d_tag) {
      case DT_JMPREL:
        tables[0] = reinterpret_cast<const ElfW(Rela)*>(pointer());
        break;
      case DT_PLTRELSZ:
        counts[0] = each->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_RELA:
        tables[1] = reinterpret_cast<const ElfW(Rela)*>(pointer());
        break;
      case DT_RELASZ:
        counts[1] = each->d_un.d_val / sizeof(ElfW(Rela));
        break;
      case DT_RELACOUNT:
        relative = each->d_un.d_val;
        break;
      case DT_SYMTAB:
        symbols = reinterpret_cast<const ElfW(Sym)*>(pointer());
        break;
      case DT_STRTAB:
        strings = reinterpret_cast<const char*>(pointer());
        break;
      default:
        break;
    }
  }
  if (symbols == nullptr || strings == nullptr) return "its compiler is no library that can be listened to";
  Segment readonly{library};
  ::dl_iterate_phdr(find_readonly, &readonly);
  if (!stay_loaded()) return "larder may be unloaded before its compiler";
  const MutexLock lock(patching);
  for (int t = 0; t < 2; ++t) {
    if (tables[t] == nullptr) continue;
    // Those in front refer to no symbol, and there are a hundred thousand of them.
    for (std::size_t i = t == 1 ? relative : 0; i < counts[t]; ++i) {
      const ElfW(Rela)& entry = tables[t][i];
      if (!is_address_of_symbol(entry.r_info)) continue;
      const ElfW(Sym)& symbol = symbols[ELF64_R_SYM(entry.r_info)];
      if (symbol.st_shndx != SHN_UNDEF) continue;
      const std::string_view name(strings + symbol.st_name);
      if (is_unheard(name))
        return "its compiler may reach files by " + std::string(name) + ", which is not heard";
      const Hook* const hook = hook_for(name);
      if (hook == nullptr) continue;
      if (!put(library->l_addr + entry.r_offset, hook->function, readonly.begin, readonly.end)) {
        return "its compiler's table of imports cannot be written";
      }
    }
  }
  return {};
}

std::string hook_files(std::span<const std::string_view> names) {
  struct Found {
    std::span<const std::string_view> names;
    std::vector<const void*> addresses;
  } found{names, {}};
  // The list of libraries is locked while it is walked.
  const auto look = [](dl_phdr_info* info, std::size_t, void* to) {
    auto& all = *static_cast<Found*>(to);
    std::string_view file = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    file.remove_prefix(file.rfind('/') + 1);
    for (const std::string_view name : all.names) {
      if (!file.starts_with(name) || info->dlpi_phnum == 0) continue;
      all.addresses.push_back(reinterpret_cast<const void*>(info->dlpi_addr + info->dlpi_phdr[0].p_vaddr));
      break;
    }
    return 0;
  };
  ::dl_iterate_phdr(look, &found);
  for (const void* const address : found.addresses) {
    if (std::string why = hook_files(address); !why.empty()) return why;
  }
  return {};
}

}  // namespace larder
