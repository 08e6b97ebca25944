#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/clock.hpp"
#include "base/file_system.hpp"
#include "base/fixed_text.hpp"
#include "base/hot.hpp"

// A short-lived process gets one product from the store: finding each of these at its first call would cost
// it more than reading a small file does, so they are found when the library is loaded. All others are found
// at their first call, so that a process which makes none does not pay for them when it starts.
#if __has_cpp_attribute(gnu::noplt)
extern "C" {
[[gnu::noplt]] decltype(::close) close;
[[gnu::noplt]] decltype(::fstat) fstat;
[[gnu::noplt]] decltype(::fstatat) fstatat;
[[gnu::noplt]] decltype(::openat) openat;
[[gnu::noplt]] decltype(::pread) pread;
[[gnu::noplt]] decltype(::syscall) syscall;
}
#endif

namespace larder {
namespace {

constexpr int kAlways = O_CLOEXEC | O_NOCTTY;

template <typename Call>
auto retried(Call call) noexcept {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result < 0 ? static_cast<decltype(result)>(-errno) : result;
}

// File systems that no other machine can change under us. What is not listed counts as remote.
bool is_local(std::uint32_t type) noexcept {
  constexpr std::uint32_t kXfs = 0x58465342, kZfs = 0x2fc12fc1, kBcachefs = 0xca451a4e;
  constexpr std::array kLocal = {std::uint32_t{EXT4_SUPER_MAGIC},
                                 std::uint32_t{BTRFS_SUPER_MAGIC},
                                 std::uint32_t{TMPFS_MAGIC},
                                 std::uint32_t{F2FS_SUPER_MAGIC},
                                 std::uint32_t{OVERLAYFS_SUPER_MAGIC},
                                 kXfs,
                                 kZfs,
                                 kBcachefs};
  return std::find(kLocal.begin(), kLocal.end(), type) != kLocal.end();
}

class PosixFileSystem final : public FileSystem {
 public:
  LARDER_HOT int open_at(int dir, const char* path, int flags, mode_t mode) noexcept override {
    return retried([&] { return ::openat(dir, path, flags | kAlways, mode); });
  }
  LARDER_HOT int open_beneath(int dir, const char* path, int flags, mode_t mode) noexcept override {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(flags | kAlways);
    how.mode = (flags & O_CREAT) != 0 ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const long fd = retried([&] { return ::syscall(SYS_openat2, dir, path, &how, sizeof how); });
    // EAGAIN: a rename raced with the walk; the plain call decides. EPERM: what old sandboxes say for ENOSYS.
    return fd == -EAGAIN || fd == -EPERM ? -ENOSYS : static_cast<int>(fd);
  }
  LARDER_HOT int close(int fd) noexcept override { return ::close(fd) < 0 && errno != EINTR ? -errno : 0; }
  int replace(int from, int to) noexcept override {
    return retried([&] { return ::dup3(from, to, O_CLOEXEC); });
  }
  LARDER_HOT int status(int fd, struct stat& status) noexcept override {
    return retried([&] { return ::fstat(fd, &status); });
  }
  LARDER_HOT int status_at(int dir, const char* path, struct stat& status) noexcept override {
    return retried([&] { return ::fstatat(dir, path, &status, AT_SYMLINK_NOFOLLOW); });
  }
  LARDER_HOT int presence_at(int dir, const char* path) noexcept override {
    char start = 0;
    const ssize_t size = retried([&] { return ::readlinkat(dir, path, &start, 1); });
    return size >= 0 || size == -EINVAL ? 0 : static_cast<int>(size);
  }
  int make_directory_at(int dir, const char* path, mode_t mode) noexcept override {
    return retried([&] { return ::mkdirat(dir, path, mode); });
  }
  int unlink_at(int dir, const char* path, int flags) noexcept override {
    return retried([&] { return ::unlinkat(dir, path, flags); });
  }
  int rename_at(int from_dir, const char* from, int to_dir, const char* to,
                unsigned flags) noexcept override {
    return retried([&] {
      return flags == 0 ? ::renameat(from_dir, from, to_dir, to)
                        : static_cast<int>(::syscall(SYS_renameat2, from_dir, from, to_dir, to, flags));
    });
  }
  int link_at(int from_dir, const char* from, int to_dir, const char* to) noexcept override {
    return retried([&] { return ::linkat(from_dir, from, to_dir, to, 0); });
  }
  LARDER_HOT ssize_t read_at(int fd, void* buffer, std::size_t size, std::uint64_t offset) noexcept override {
    return retried([&] { return ::pread(fd, buffer, size, static_cast<off_t>(offset)); });
  }
  ssize_t write(int fd, const iovec* parts, int count) noexcept override {
    return retried([&] { return ::writev(fd, parts, count); });
  }
  ssize_t write_at(int fd, const void* buffer, std::size_t size, std::uint64_t offset) noexcept override {
    return retried([&] { return ::pwrite(fd, buffer, size, static_cast<off_t>(offset)); });
  }
  int truncate(int fd, std::uint64_t size) noexcept override {
    return retried([&] { return ::ftruncate(fd, static_cast<off_t>(size)); });
  }
  int sync(int fd, bool data_only) noexcept override {
    return retried([&] { return data_only ? ::fdatasync(fd) : ::fsync(fd); });
  }
  int change_mode(int fd, mode_t mode) noexcept override {
    return retried([&] { return ::fchmod(fd, mode); });
  }
  int set_times(int fd, std::int64_t unix_ns) noexcept override {
    timespec time{};
    time.tv_sec = unix_ns / kSecondNs - (unix_ns % kSecondNs < 0 ? 1 : 0);
    time.tv_nsec = unix_ns - time.tv_sec * kSecondNs;
    const timespec both[2] = {time, time};
    return retried([&] { return ::futimens(fd, both); });
  }
  ssize_t list(int fd, void* buffer, std::size_t size) noexcept override {
    return retried([&] { return static_cast<ssize_t>(::syscall(SYS_getdents64, fd, buffer, size)); });
  }
  int lock(int fd, FileLock lock, std::uint64_t offset) noexcept override {
    struct flock range {};
    range.l_type = lock == FileLock::exclusive ? F_WRLCK : F_UNLCK;
    range.l_whence = SEEK_SET;
    range.l_start = static_cast<off_t>(offset);
    range.l_len = 1;
    const int result = retried([&] { return ::fcntl(fd, F_OFD_SETLK, &range); });
    return result == -EACCES ? -EAGAIN : result;
  }
  int space(int fd, FileSpace& space) noexcept override {
    struct statfs facts {};
    const int result = retried([&] { return ::fstatfs(fd, &facts); });
    if (result < 0) return result;
    space.free_bytes =
        static_cast<std::uint64_t>(facts.f_bavail) * static_cast<std::uint64_t>(facts.f_frsize);
    space.is_local = is_local(static_cast<std::uint32_t>(facts.f_type));
    return 0;
  }
  void* map(int fd, std::size_t size, int& error) noexcept override {
    void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    error = address == MAP_FAILED ? -errno : 0;
    return address == MAP_FAILED ? nullptr : address;
  }
  int unmap(void* address, std::size_t size) noexcept override {
    return ::munmap(address, size) < 0 ? -errno : 0;
  }
};

constinit PosixFileSystem machine_files;

}  // namespace

FileSystem& FileSystem::posix() noexcept {
  return machine_files;
}

std::string_view name(FileCall call) noexcept {
  static constexpr std::array<FixedText<14>, kFileCallCount> kNames = {
      "open",      "close", "replace", "status", "presence", "make_directory", "unlink",
      "rename",    "link",  "read",    "write",  "truncate", "sync",           "change_mode",
      "set_times", "list",  "lock",    "space",  "map",      "unmap"};
  return kNames[static_cast<std::size_t>(call)];
}

}  // namespace larder
