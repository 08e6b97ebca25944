// FileSystem is the border to the operating system's files: one function per system call that larder makes.
// The store and everything else that touches files goes through it, so that a test can put its own in the
// way. Any thread may call; nothing throws; calls interrupted by a signal are made again beneath this border.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace larder {

// The calls by name, for those who count them or let them fail. Numbers are not stored anywhere.
enum class FileCall : std::uint8_t {
  open,
  close,
  replace,
  status,
  presence,
  make_directory,
  unlink,
  rename,
  link,
  read,
  write,
  truncate,
  sync,
  change_mode,
  set_times,
  list,
  lock,
  space,
  map,
  unmap,
};
inline constexpr std::size_t kFileCallCount = 20;

std::string_view name(FileCall call) noexcept;

struct FileSpace {
  std::uint64_t free_bytes = 0;  // what this user may still write
  bool is_local = false;         // a file system that only this machine can change
};

enum class FileLock : std::uint8_t { exclusive, none };

// `path` is relative to the directory descriptor `dir`, or absolute, or with `dir` = AT_FDCWD as usual.
// Results are what the system call returns (0 or more), or minus errno.
class FileSystem {
 public:
  // Opens with O_CLOEXEC | O_NOCTTY added.
  virtual int open_at(int dir, const char* path, int flags, mode_t mode = 0) noexcept = 0;
  // As open_at, for a relative `path` of which no component may be a symbolic link. Where the kernel lacks
  // openat2 the components before the last are not checked: -ENOSYS says so, and nothing was opened.
  virtual int open_beneath(int dir, const char* path, int flags, mode_t mode = 0) noexcept = 0;
  // The descriptor is gone whatever this returns.
  virtual int close(int fd) noexcept = 0;
  // Makes `to` stand for what `from` stands for, in one step (dup3).
  virtual int replace(int from, int to) noexcept = 0;

  virtual int status(int fd, struct stat& status) noexcept = 0;
  // Does not follow a symbolic link in the last component.
  virtual int status_at(int dir, const char* path, struct stat& status) noexcept = 0;
  // 0 when something of that name is there, of whatever kind; a symbolic link stands for itself. It costs
  // half of what status_at costs: the kernel reads a link's name, and says of all else that it is none.
  virtual int presence_at(int dir, const char* path) noexcept = 0;

  virtual int make_directory_at(int dir, const char* path, mode_t mode) noexcept = 0;
  virtual int unlink_at(int dir, const char* path, int flags = 0) noexcept = 0;
  // `flags` are those of renameat2.
  virtual int rename_at(int from_dir, const char* from, int to_dir, const char* to,
                        unsigned flags) noexcept = 0;
  virtual int link_at(int from_dir, const char* from, int to_dir, const char* to) noexcept = 0;

  virtual ssize_t read_at(int fd, void* buffer, std::size_t size, std::uint64_t offset) noexcept = 0;
  // Writes at the file's position (its end for O_APPEND). May write less than asked.
  virtual ssize_t write(int fd, const iovec* parts, int count) noexcept = 0;
  virtual ssize_t write_at(int fd, const void* buffer, std::size_t size, std::uint64_t offset) noexcept = 0;
  virtual int truncate(int fd, std::uint64_t size) noexcept = 0;
  // Waits until the data (`data_only`) or all of a file or directory is on the medium.
  virtual int sync(int fd, bool data_only) noexcept = 0;
  virtual int change_mode(int fd, mode_t mode) noexcept = 0;
  // Sets access and modification time.
  virtual int set_times(int fd, std::int64_t unix_ns) noexcept = 0;
  // Raw getdents64 records; 0 at the end.
  virtual ssize_t list(int fd, void* buffer, std::size_t size) noexcept = 0;

  // Never waits: -EAGAIN when somebody else holds the byte `offset`. The lock belongs to the open file
  // description and the kernel drops it when that goes, so a dead process holds nothing.
  virtual int lock(int fd, FileLock lock, std::uint64_t offset) noexcept = 0;
  virtual int space(int fd, FileSpace& space) noexcept = 0;

  // Private and read-only. Null on failure, and then `error` is minus errno.
  virtual void* map(int fd, std::size_t size, int& error) noexcept = 0;
  virtual int unmap(void* address, std::size_t size) noexcept = 0;

  // The machine's files; lives for ever.
  static FileSystem& posix() noexcept;

 protected:
  // Nobody owns one through this type, so that the machine's own needs no destructor at unload.
  ~FileSystem() = default;
};

}  // namespace larder
