#include "store/replace.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "base/transfer.hpp"
#include "store/trust.hpp"

namespace larder::replace {
namespace {

// Tells the writers of this process apart.
std::atomic<unsigned> g_next_writer{0};

// The temporary file, ours alone while `file` is open.
struct Temporary {
  std::string name;
  File file;
  bool is_ours = false;
};

// Takes `.NAME.new`, made by us or left by the dead. -EAGAIN when another writer has it or it cannot be
// trusted.
int take_shared_name(FileSystem& files, int dir, Temporary& temporary) noexcept {
  const char* const name = temporary.name.c_str();
  const int fd = files.open_at(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, trust::kFileMode);
  if (fd == -ELOOP || fd == -EISDIR || fd == -ENXIO || fd == -EACCES) return -EAGAIN;
  if (fd < 0) return fd;
  temporary.file = File(files, fd);
  if (const int error = files.lock(fd, FileLock::exclusive, 0); error < 0) {
    // Where nothing can be locked nobody writes under this name, so it is a leaving, perhaps our own.
    if (error != -EAGAIN && error != -EACCES) files.unlink_at(dir, name);
    return -EAGAIN;
  }
  struct stat held {};
  struct stat named {};
  if (const int error = files.status(fd, held); error < 0) return error;
  const bool is_plain = S_ISREG(held.st_mode) && held.st_uid == ::geteuid() && held.st_nlink == 1;
  // The writer before us may have moved the file into place between our open and our lock: it is published
  // now and nobody's to write.
  const bool is_still_named =
      files.status_at(dir, name, named) == 0 && named.st_ino == held.st_ino && named.st_dev == held.st_dev;
  if (!is_plain || !is_still_named) return -EAGAIN;
  temporary.is_ours = true;
  return held.st_size == 0 ? 0 : files.truncate(fd, 0);
}

int take_own_name(FileSystem& files, int dir, Temporary& temporary) noexcept {
  const int fd =
      files.open_at(dir, temporary.name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, trust::kFileMode);
  if (fd < 0) return fd;
  temporary.file = File(files, fd);
  temporary.is_ours = true;
  return 0;
}

int fill(FileSystem& files, int fd, std::string_view head, BytesView body) noexcept {
  struct stat status {};
  if (const int error = files.status(fd, status); error < 0) return error;
  // The umask or an inherited access list may have set another mode.
  if ((status.st_mode & 07777) != trust::kFileMode) {
    if (const int error = files.change_mode(fd, trust::kFileMode); error < 0) return error;
  }
  if (const int error = write_fully(files, fd, as_bytes(head), 0); error < 0) return error;
  return write_fully(files, fd, body, head.size());
}

}  // namespace

int replace(FileSystem& files, int dir, const std::string& name, std::string_view head,
            BytesView body) noexcept try {
  Temporary temporary;
  temporary.name = '.' + name + ".new";
  int error = take_shared_name(files, dir, temporary);
  if (error == -EAGAIN) {
    temporary.file.close();
    temporary.name += '-' + std::to_string(::getpid()) + '-' + std::to_string(g_next_writer.fetch_add(1));
    error = take_own_name(files, dir, temporary);
    // Somebody's leavings under our name: nothing that a cache should fight for.
    if (error < 0) return error;
  }
  if (error == 0) error = fill(files, temporary.file.fd(), head, body);
  // The lock must hold until the name is gone, so the file stays open over the rename; on a network file
  // system what a late write failed with shows in close, and the checksum shows it to every reader.
  if (error == 0) error = files.rename_at(dir, temporary.name.c_str(), dir, name.c_str(), 0);
  if (error < 0 && temporary.is_ours) files.unlink_at(dir, temporary.name.c_str());
  return error;
} catch (const std::bad_alloc&) {
  return -ENOMEM;
}

}  // namespace larder::replace
