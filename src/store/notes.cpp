#include "store/notes.hpp"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

#include <atomic>

#include "base/clock.hpp"
#include "store/listing.hpp"
#include "store/trust.hpp"

namespace larder {
namespace {

constexpr int kWriteFlags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;

bool write_all(FileSystem& files, int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
    const ssize_t written = files.write(fd, &part, 1);
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// A C string without the heap. Empty, the name of nothing, where no file can be called so.
struct NoteName {
  explicit NoteName(std::string_view name) noexcept {
    if (name.size() < sizeof text) name.copy(text, name.size());
  }
  char text[NAME_MAX + 1] = {};
};

// The umask, or an access list, may have set another.
bool is_usable(const Directory& directory, const File& file, struct stat& status) noexcept {
  return file.is_open() && directory.files().status(file.fd(), status) == 0 &&
         trust::is_our_file(status, directory.user());
}

}  // namespace

std::string Notes::read(std::string_view name, std::size_t size_max) const {
  const std::string path(name);
  FileSystem& files = directory_.files();
  const File file(files, files.open_at(directory_.fd(), path.c_str(), trust::kReadFlags));
  struct stat status {};
  if (!is_usable(directory_, file, status) || status.st_size < 0) return {};
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > size_max) return {};
  std::string bytes(size, '\0');
  std::size_t at = 0;
  while (at < size) {
    const ssize_t got = files.read_at(file.fd(), bytes.data() + at, size - at, at);
    if (got < 0) return {};
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

bool Notes::append(std::string_view name, std::string_view bytes, std::uint64_t size_max,
                   std::string_view older) const {
  if (read_only_ || bytes.size() > size_max) return false;
  const std::string path(name);
  FileSystem& files = directory_.files();
  for (int round = 0; round < 2; ++round) {
    const File file(files,
                    files.open_at(directory_.fd(), path.c_str(), kWriteFlags | O_APPEND, trust::kFileMode));
    struct stat status {};
    if (!is_usable(directory_, file, status)) return false;
    if (static_cast<std::uint64_t>(status.st_size) + bytes.size() > size_max && round == 0) {
      files.rename_at(directory_.fd(), path.c_str(), directory_.fd(), std::string(older).c_str(), 0);
      continue;
    }
    // One call: what other processes append goes before or after it. Torn by a full disk, it is passed over.
    const iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
    return files.write(file.fd(), &part, 1) == static_cast<ssize_t>(bytes.size());
  }
  return false;
}

bool Notes::replace(std::string_view name, std::string_view bytes) const {
  if (read_only_) return false;
  FileSystem& files = directory_.files();
  const std::string path(name);
  const std::string fresh = path + std::string(layout::kFreshNote);
  int fd = files.open_at(directory_.fd(), fresh.c_str(), kWriteFlags | O_EXCL, trust::kFileMode);
  if (fd == -EEXIST) {
    // Another process is at it, or died over it.
    struct stat status {};
    if (files.status_at(directory_.fd(), fresh.c_str(), status) == 0)
      files.unlink_at(directory_.fd(), fresh.c_str());
    fd = files.open_at(directory_.fd(), fresh.c_str(), kWriteFlags | O_EXCL, trust::kFileMode);
  }
  File file(files, fd);
  if (!file.is_open()) return false;
  const bool is_written = write_all(files, file.fd(), bytes) && file.close() == 0;
  if (is_written && files.rename_at(directory_.fd(), fresh.c_str(), directory_.fd(), path.c_str(), 0) == 0)
    return true;
  files.unlink_at(directory_.fd(), fresh.c_str());
  return false;
}

void Notes::remove(std::string_view name) const noexcept {
  if (!read_only_) directory_.files().unlink_at(directory_.fd(), NoteName(name).text);
}

void Notes::remove_each(std::string_view prefix) const {
  std::vector<std::string> names;
  Listing listing(directory_);
  while (const auto name = listing.next()) {
    if (name->starts_with(prefix)) names.emplace_back(*name);
  }
  for (const std::string& name : names) remove(name);
}

std::int64_t Notes::written_at(std::string_view name) const noexcept {
  struct stat status {};
  if (directory_.files().status_at(directory_.fd(), NoteName(name).text, status) != 0) return 0;
  return to_ns(status.st_mtim);
}

bool Notes::alone(const std::function<void()>& change) const {
  if (read_only_) return false;
  FileSystem& files = directory_.files();
  const File lock(files, files.open_at(directory_.fd(), layout::kLock,
                                       O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, trust::kFileMode));
  if (!lock.is_open() || files.lock(lock.fd(), FileLock::exclusive, layout::kNotesLockByte) != 0)
    return false;
  change();
  return true;
}

}  // namespace larder
