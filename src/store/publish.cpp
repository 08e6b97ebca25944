#include "store/publish.hpp"

#include <fcntl.h>
#include <linux/fs.h>

#include <algorithm>
#include <cerrno>

#include "base/file.hpp"
#include "store/trust.hpp"

namespace larder::publish {
namespace {

int write_all(FileSystem& files, int fd, std::string_view head, BytesView product) noexcept {
  // Linux writes at most 2 GiB less a page in one call.
  constexpr std::size_t kMost = std::size_t{1} << 30;
  iovec parts[2] = {{const_cast<char*>(head.data()), head.size()},
                    {const_cast<std::byte*>(product.data()), product.size()}};
  std::size_t first = 0;
  while (first < 2) {
    if (parts[first].iov_len == 0) {
      ++first;
      continue;
    }
    iovec now[2] = {parts[0], parts[1]};
    now[1].iov_len = std::min(now[1].iov_len, kMost);
    const ssize_t wrote = files.write(fd, now + first, static_cast<int>(2 - first));
    if (wrote < 0) return static_cast<int>(wrote);
    if (wrote == 0) return -EIO;
    auto left = static_cast<std::size_t>(wrote);
    for (std::size_t i = first; i < 2 && left > 0; ++i) {
      const std::size_t taken = std::min(left, parts[i].iov_len);
      parts[i].iov_base = static_cast<std::byte*>(parts[i].iov_base) + taken;
      parts[i].iov_len -= taken;
      left -= taken;
    }
  }
  return 0;
}

// Writes the temporary file completely. 0 or minus errno.
int write_temporary(Directory& directory, const Key& key, const char* path, std::string_view head,
                    BytesView product, bool durable, bool& is_made) noexcept {
  FileSystem& files = directory.files();
  File file(files, -1);
  const unsigned shard = layout::shard_of(key);
  for (int attempt = 0;; ++attempt) {
    const int fd = directory.open_in_shard(shard, path, O_WRONLY | O_CREAT | O_EXCL, trust::kFileMode);
    if (fd >= 0) {
      file = File(files, fd);
      is_made = true;
      break;
    }
    if (fd != -ENOENT || attempt == 2) return fd;
    if (const int made = directory.make_shard(shard); made < 0) return made;
  }
  // The umask or an inherited access list may have set another mode.
  struct stat status {};
  if (const int error = files.status(file.fd(), status); error < 0) return error;
  if ((status.st_mode & 07777) != trust::kFileMode) {
    if (const int error = files.change_mode(file.fd(), trust::kFileMode); error < 0) return error;
  }
  if (const int error = write_all(files, file.fd(), head, product); error < 0) return error;
  if (durable) {
    if (const int error = files.sync(file.fd(), true); error < 0) return error;
  }
  return file.close();
}

// Gives the temporary file its name. 0, -EEXIST when there is such an entry, or minus errno.
int move_into_place(Directory& directory, const char* temporary, const char* path,
                    std::atomic<bool>& lacks_no_replace) noexcept {
  FileSystem& files = directory.files();
  const int dir = directory.fd();
  if (!lacks_no_replace.load(std::memory_order_relaxed)) {
    const int moved = files.rename_at(dir, temporary, dir, path, RENAME_NOREPLACE);
    if (moved != -EINVAL && moved != -ENOSYS && moved != -EOPNOTSUPP && moved != -EPERM) return moved;
    lacks_no_replace.store(true, std::memory_order_relaxed);
  }
  const int linked = files.link_at(dir, temporary, dir, path);
  if (linked == 0) {
    files.unlink_at(dir, temporary);
    return 0;
  }
  if (linked != -EPERM && linked != -EOPNOTSUPP && linked != -ENOSYS && linked != -EINVAL &&
      linked != -EMLINK) {
    return linked;
  }
  if (files.presence_at(dir, path) == 0) return -EEXIST;
  return files.rename_at(dir, temporary, dir, path, 0);
}

int sync_shard(Directory& directory, const Key& key) noexcept {
  FileSystem& files = directory.files();
  const unsigned shard = layout::shard_of(key);
  const File opened(
      files, directory.open_in_shard(shard, layout::shard_path(shard).c_str(), O_RDONLY | O_DIRECTORY));
  return opened.is_open() ? files.sync(opened.fd(), false) : opened.fd();
}

}  // namespace

Reason reason_of_write(int error) noexcept {
  switch (-error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Reason::out_of_space;
    case EROFS:
      return Reason::read_only;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Reason::out_of_resources;
    case ELOOP:
    case EXDEV:
    case ENOTDIR:
      return Reason::untrusted;
    default:
      return Reason::unwritable;
  }
}

Outcome publish(Directory& directory, const Key& key, std::string_view head, BytesView product,
                How how) noexcept {
  FileSystem& files = directory.files();
  const layout::Path path = layout::entry_path(key);
  int error = 0;
  // A second round: a network file system may answer ESTALE or ENOENT for what was there a moment ago, and a
  // name that should have been unique may be taken.
  for (unsigned round = 0; round < 2; ++round) {
    const layout::Path temporary = layout::temporary_path(key, how.unique + round);
    bool is_made = false;
    error = write_temporary(directory, key, temporary.c_str(), head, product, how.durable, is_made);
    const bool name_taken = error == -EEXIST;
    if (error == 0)
      error = move_into_place(directory, temporary.c_str(), path.c_str(), *how.lacks_no_replace);
    if (error == 0) break;
    if (is_made) files.unlink_at(directory.fd(), temporary.c_str());
    if (error != -ESTALE && error != -ENOENT && !name_taken) break;
    if (name_taken) error = -EAGAIN;
  }
  if (error == -EEXIST) return {.is_stored = false, .was_there = true, .reason = Reason::none};
  if (error < 0) return {.is_stored = false, .was_there = false, .reason = reason_of_write(error)};
  // The entry is whole and in place; a shard that cannot be synced only means that a power cut may lose it.
  if (how.durable && sync_shard(directory, key) < 0) {
    return {.is_stored = false, .was_there = false, .reason = Reason::unwritable};
  }
  return {.is_stored = true, .was_there = false, .reason = Reason::none};
}

}  // namespace larder::publish
