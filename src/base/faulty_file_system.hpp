// FaultyFileSystem is a FileSystem for tests: it passes calls on to a real one, counts them, and lets chosen
// ones fail or the process die. Any thread may call; a fault is set before the threads start.
#pragma once

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "base/file_system.hpp"

namespace larder {

// What happens at the `at`-th call (the first is 0).
struct Fault {
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t at = kNever;
  int error = 0;                   // the errno to fail with; 0 lets the call through
  bool for_ever = false;           // and every later call too
  bool kill = false;               // raise SIGKILL instead of making the call; a write is half made first
  bool stop = false;               // raise SIGSTOP first, and make the call when continued
  std::optional<FileCall> only{};  // counts and strikes only this call
};

class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(FileSystem& real = FileSystem::posix()) noexcept : real_(real) {}

  // Starts counting for the fault anew.
  void set(Fault fault) noexcept;
  void clear() noexcept { set(Fault{}); }
  // This call always fails with `error` (0: works again), whatever `set` says: a file system that lacks it.
  void lack(FileCall call, int error) noexcept { lacking_[static_cast<std::size_t>(call)] = error; }
  // rename_at with flags always fails with `error` (0: works again).
  void lack_rename_flags(int error) noexcept { lacking_rename_flags_ = error; }
  // open_beneath always fails with ENOSYS: an old kernel.
  void lack_beneath() noexcept { lacks_beneath_ = true; }
  // What `space` answers from now on.
  void pretend_space(FileSpace space) noexcept;
  // A write is cut to at most this many bytes; 0: no limit.
  void cut_writes(std::size_t bytes) noexcept { write_max_ = bytes; }
  // As cut_writes, for read_at.
  void cut_reads(std::size_t bytes) noexcept { read_max_ = bytes; }

  // What a power cut does: of every file made or written through this object since remember_unsynced() and
  // not synced, some end up empty, some cut, some full of zeros. Names stay, as on a file system that kept
  // those in time.
  void remember_unsynced() noexcept { remembers_ = true; }
  void lose_power() noexcept;

  // Calls since the fault was set that it could have struck.
  std::uint64_t calls() const noexcept { return struck_at_.load(); }
  std::uint64_t calls(FileCall call) const noexcept { return counts_[static_cast<std::size_t>(call)].load(); }
  std::uint64_t bytes_read() const noexcept { return bytes_read_.load(); }
  // Descriptors opened and not closed through this object.
  std::int64_t open_descriptors() const noexcept { return open_.load(); }

  int open_at(int dir, const char* path, int flags, mode_t mode) noexcept override;
  int open_beneath(int dir, const char* path, int flags, mode_t mode) noexcept override;
  int close(int fd) noexcept override;
  int replace(int from, int to) noexcept override;
  int status(int fd, struct stat& status) noexcept override;
  int status_at(int dir, const char* path, struct stat& status) noexcept override;
  int presence_at(int dir, const char* path) noexcept override;
  int make_directory_at(int dir, const char* path, mode_t mode) noexcept override;
  int unlink_at(int dir, const char* path, int flags) noexcept override;
  int rename_at(int from_dir, const char* from, int to_dir, const char* to, unsigned flags) noexcept override;
  int link_at(int from_dir, const char* from, int to_dir, const char* to) noexcept override;
  ssize_t read_at(int fd, void* buffer, std::size_t size, std::uint64_t offset) noexcept override;
  ssize_t write(int fd, const iovec* parts, int count) noexcept override;
  ssize_t write_at(int fd, const void* buffer, std::size_t size, std::uint64_t offset) noexcept override;
  int truncate(int fd, std::uint64_t size) noexcept override;
  int sync(int fd, bool data_only) noexcept override;
  int change_mode(int fd, mode_t mode) noexcept override;
  int set_times(int fd, std::int64_t unix_ns) noexcept override;
  ssize_t list(int fd, void* buffer, std::size_t size) noexcept override;
  int lock(int fd, FileLock lock, std::uint64_t offset) noexcept override;
  int space(int fd, FileSpace& space) noexcept override;
  void* map(int fd, std::size_t size, int& error) noexcept override;
  int unmap(void* address, std::size_t size) noexcept override;

 private:
  // 0 lets the call through, else minus errno. Does not return when the process is to die.
  int admit(FileCall call) noexcept;
  [[noreturn]] static void killed() noexcept {
    ::raise(SIGKILL);
    std::abort();
  }
  bool dies_at(FileCall call) noexcept;
  ssize_t write_cut(int fd, const iovec* parts, int count, std::size_t size) noexcept;

  struct Unsynced {
    int fd;  // of its own, so that the file is found whatever it is called now
    struct stat status;
  };
  void remember(int fd) noexcept;
  void forget(int fd) noexcept;

  FileSystem& real_;
  bool remembers_ = false;
  std::vector<Unsynced> unsynced_;
  Fault fault_;
  std::array<int, kFileCallCount> lacking_{};
  int lacking_rename_flags_ = 0;
  bool lacks_beneath_ = false;
  std::size_t write_max_ = 0;
  std::size_t read_max_ = 0;
  bool pretends_space_ = false;
  FileSpace pretended_space_;
  std::atomic<std::uint64_t> struck_at_{0};
  std::array<std::atomic<std::uint64_t>, kFileCallCount> counts_{};
  std::atomic<std::uint64_t> bytes_read_{0};
  std::atomic<std::int64_t> open_{0};
};

inline void FaultyFileSystem::set(Fault fault) noexcept {
  fault_ = fault;
  struck_at_ = 0;
  for (auto& count : counts_) count = 0;
}

inline void FaultyFileSystem::pretend_space(FileSpace space) noexcept {
  pretends_space_ = true;
  pretended_space_ = space;
}

inline void FaultyFileSystem::remember(int fd) noexcept {
  if (!remembers_) return;
  Unsynced file{.fd = ::dup(fd), .status = {}};
  if (file.fd >= 0 && ::fstat(file.fd, &file.status) == 0) unsynced_.push_back(file);
}

inline void FaultyFileSystem::forget(int fd) noexcept {
  struct stat synced {};
  if (::fstat(fd, &synced) != 0) return;
  for (std::size_t i = 0; i < unsynced_.size(); ++i) {
    if (unsynced_[i].status.st_ino != synced.st_ino) continue;
    ::close(unsynced_[i].fd);
    unsynced_.erase(unsynced_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

inline void FaultyFileSystem::lose_power() noexcept {
  for (std::size_t i = 0; i < unsynced_.size(); ++i) {
    const int fd = unsynced_[i].fd;
    struct stat status {};
    if (::fstat(fd, &status) == 0) {
      const off_t kept = i % 3 == 0 ? 0 : status.st_size * static_cast<off_t>(i % 7) / 7;
      if (::ftruncate(fd, kept) == 0 && i % 2 == 0 && ::ftruncate(fd, status.st_size) != 0) std::abort();
    }
    ::close(fd);
  }
  unsynced_.clear();
}

inline bool FaultyFileSystem::dies_at(FileCall call) noexcept {
  const bool counted = !fault_.only || *fault_.only == call;
  return fault_.kill && counted && struck_at_.load() == fault_.at;
}

inline int FaultyFileSystem::admit(FileCall call) noexcept {
  counts_[static_cast<std::size_t>(call)].fetch_add(1);
  if (const int error = lacking_[static_cast<std::size_t>(call)]; error != 0) return -error;
  if (fault_.only && *fault_.only != call) return 0;
  const std::uint64_t number = struck_at_.fetch_add(1);
  if (number < fault_.at || (number > fault_.at && !fault_.for_ever)) return 0;
  if (fault_.kill) killed();
  if (fault_.stop) ::raise(SIGSTOP);
  return -fault_.error;
}

inline int FaultyFileSystem::open_at(int dir, const char* path, int flags, mode_t mode) noexcept {
  if (const int error = admit(FileCall::open); error != 0) return error;
  const int fd = real_.open_at(dir, path, flags, mode);
  if (fd >= 0) open_.fetch_add(1);
  return fd;
}

inline int FaultyFileSystem::open_beneath(int dir, const char* path, int flags, mode_t mode) noexcept {
  if (const int error = admit(FileCall::open); error != 0) return error;
  if (lacks_beneath_) return -ENOSYS;
  const int fd = real_.open_beneath(dir, path, flags, mode);
  if (fd >= 0) open_.fetch_add(1);
  if (fd >= 0 && (flags & O_CREAT) != 0) remember(fd);
  return fd;
}

inline int FaultyFileSystem::close(int fd) noexcept {
  const int error = admit(FileCall::close);
  const int result = real_.close(fd);  // as the kernel does: gone even when the call fails
  open_.fetch_sub(1);
  return error != 0 ? error : result;
}

inline int FaultyFileSystem::replace(int from, int to) noexcept {
  const int error = admit(FileCall::replace);
  return error != 0 ? error : real_.replace(from, to);
}

inline int FaultyFileSystem::status(int fd, struct stat& status) noexcept {
  const int error = admit(FileCall::status);
  return error != 0 ? error : real_.status(fd, status);
}

inline int FaultyFileSystem::presence_at(int dir, const char* path) noexcept {
  const int error = admit(FileCall::presence);
  return error != 0 ? error : real_.presence_at(dir, path);
}

inline int FaultyFileSystem::status_at(int dir, const char* path, struct stat& status) noexcept {
  const int error = admit(FileCall::status);
  return error != 0 ? error : real_.status_at(dir, path, status);
}

inline int FaultyFileSystem::make_directory_at(int dir, const char* path, mode_t mode) noexcept {
  const int error = admit(FileCall::make_directory);
  return error != 0 ? error : real_.make_directory_at(dir, path, mode);
}

inline int FaultyFileSystem::unlink_at(int dir, const char* path, int flags) noexcept {
  const int error = admit(FileCall::unlink);
  return error != 0 ? error : real_.unlink_at(dir, path, flags);
}

inline int FaultyFileSystem::rename_at(int from_dir, const char* from, int to_dir, const char* to,
                                       unsigned flags) noexcept {
  if (const int error = admit(FileCall::rename); error != 0) return error;
  if (flags != 0 && lacking_rename_flags_ != 0) return -lacking_rename_flags_;
  return real_.rename_at(from_dir, from, to_dir, to, flags);
}

inline int FaultyFileSystem::link_at(int from_dir, const char* from, int to_dir, const char* to) noexcept {
  const int error = admit(FileCall::link);
  return error != 0 ? error : real_.link_at(from_dir, from, to_dir, to);
}

inline ssize_t FaultyFileSystem::read_at(int fd, void* buffer, std::size_t size,
                                         std::uint64_t offset) noexcept {
  if (const int error = admit(FileCall::read); error != 0) return error;
  if (read_max_ != 0 && size > read_max_) size = read_max_;
  const ssize_t got = real_.read_at(fd, buffer, size, offset);
  if (got > 0) bytes_read_.fetch_add(static_cast<std::uint64_t>(got));
  return got;
}

inline ssize_t FaultyFileSystem::write_cut(int fd, const iovec* parts, int count, std::size_t size) noexcept {
  std::size_t done = 0;
  for (int i = 0; i < count && done < size; ++i) {
    iovec part = parts[i];
    if (part.iov_len > size - done) part.iov_len = size - done;
    const ssize_t wrote = real_.write(fd, &part, 1);
    if (wrote < 0) return done > 0 ? static_cast<ssize_t>(done) : wrote;
    done += static_cast<std::size_t>(wrote);
  }
  return static_cast<ssize_t>(done);
}

inline ssize_t FaultyFileSystem::write(int fd, const iovec* parts, int count) noexcept {
  std::size_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  if (dies_at(FileCall::write)) {
    write_cut(fd, parts, count, size / 2);
    killed();
  }
  if (const int error = admit(FileCall::write); error != 0) return error;
  if (write_max_ != 0 && size > write_max_) return write_cut(fd, parts, count, write_max_);
  return real_.write(fd, parts, count);
}

inline ssize_t FaultyFileSystem::write_at(int fd, const void* buffer, std::size_t size,
                                          std::uint64_t offset) noexcept {
  if (dies_at(FileCall::write)) {
    real_.write_at(fd, buffer, size / 2, offset);
    killed();
  }
  if (const int error = admit(FileCall::write); error != 0) return error;
  if (write_max_ != 0 && size > write_max_) size = write_max_;
  return real_.write_at(fd, buffer, size, offset);
}

inline int FaultyFileSystem::truncate(int fd, std::uint64_t size) noexcept {
  const int error = admit(FileCall::truncate);
  return error != 0 ? error : real_.truncate(fd, size);
}

inline int FaultyFileSystem::sync(int fd, bool data_only) noexcept {
  if (const int error = admit(FileCall::sync); error != 0) return error;
  const int result = real_.sync(fd, data_only);
  if (result == 0) forget(fd);
  return result;
}

inline int FaultyFileSystem::change_mode(int fd, mode_t mode) noexcept {
  const int error = admit(FileCall::change_mode);
  return error != 0 ? error : real_.change_mode(fd, mode);
}

inline int FaultyFileSystem::set_times(int fd, std::int64_t unix_ns) noexcept {
  const int error = admit(FileCall::set_times);
  return error != 0 ? error : real_.set_times(fd, unix_ns);
}

inline ssize_t FaultyFileSystem::list(int fd, void* buffer, std::size_t size) noexcept {
  const int error = admit(FileCall::list);
  return error != 0 ? error : real_.list(fd, buffer, size);
}

inline int FaultyFileSystem::lock(int fd, FileLock lock, std::uint64_t offset) noexcept {
  const int error = admit(FileCall::lock);
  return error != 0 ? error : real_.lock(fd, lock, offset);
}

inline int FaultyFileSystem::space(int fd, FileSpace& space) noexcept {
  if (const int error = admit(FileCall::space); error != 0) return error;
  const int result = real_.space(fd, space);
  if (result == 0 && pretends_space_) space = pretended_space_;
  return result;
}

inline void* FaultyFileSystem::map(int fd, std::size_t size, int& error) noexcept {
  error = admit(FileCall::map);
  return error != 0 ? nullptr : real_.map(fd, size, error);
}

inline int FaultyFileSystem::unmap(void* address, std::size_t size) noexcept {
  const int error = admit(FileCall::unmap);
  const int result = real_.unmap(address, size);
  return error != 0 ? error : result;
}

}  // namespace larder
