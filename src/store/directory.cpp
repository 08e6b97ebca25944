#include "store/directory.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "store/listing.hpp"
#include "store/trust.hpp"

namespace larder {
namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
constexpr mode_t kDirectoryMode = 0700;

constexpr const char* kNotOurs = ": not owned by you alone; chown it, or chmod go-w";

constexpr const char* kNotEmpty = ": holds files that are not larder's; name a directory of its own";

constexpr std::string_view kTagText =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This directory holds what larder keeps; it can be made again. See https://bford.info/cachedir/\n";

// geteuid() itself lies on another page of the C library than the calls that a store needs anyway.
uid_t effective_user() noexcept {
  return static_cast<uid_t>(::syscall(SYS_geteuid));
}

std::string described(const std::string& what, int error) {
  char buffer[128];
  std::string text = what + ": " + ::strerror_r(-error, buffer, sizeof buffer);
  if (error == -EACCES || error == -EPERM || error == -EROFS)
    text += "; name a directory that you may write to, or see larder doctor";
  return text;
}

Code code_of(int error) noexcept {
  switch (-error) {
    case ELOOP:
    case ENOTDIR:
      return Code::refused;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Code::out_of_resources;
    default:
      return Code::io;
  }
}

// Makes `path` and its parents; the last component gets its mode whatever the umask is. -EEXIST: it was
// there. Where it fails: why the first of them that is not there could not be made.
int make_directories(FileSystem& files, std::string path) {
  int first = 0;
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    path[slash] = '\0';
    const int made = files.make_directory_at(AT_FDCWD, path.c_str(), kDirectoryMode);
    if (made < 0 && made != -EEXIST && first == 0) first = made;
    path[slash] = '/';
  }
  const int made = files.make_directory_at(AT_FDCWD, path.c_str(), kDirectoryMode);
  return made == -ENOENT && first != 0 ? first : made;
}

// The umask, or an access list of the parent directory, may have set another.
int set_mode(FileSystem& files, int fd, mode_t mode) noexcept {
  struct stat status {};
  const int error = files.status(fd, status);
  if (error < 0 || (status.st_mode & 07777) == mode) return error;
  return files.change_mode(fd, mode);
}

// A directory that was there before and holds other people's things: a home directory, say. Our tag would
// keep backup programs out of all of it. One that carries the tag already loses nothing by being used.
bool is_somebodys(FileSystem& files, int root) noexcept {
  struct stat status {};
  if (files.status_at(root, layout::kTag, status) == 0) return false;
  Listing listing(files, File(files, files.open_at(root, ".", O_RDONLY | O_DIRECTORY)));
  while (const auto name = listing.next()) {
    if (!layout::is_of_root(*name)) return true;
  }
  return !listing.is_open() || !listing.is_complete();
}

void write_tag(FileSystem& files, int root) noexcept {
  const File tag(files, files.open_at(root, layout::kTag, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  if (!tag.is_open()) return;
  const iovec part = {const_cast<char*>(kTagText.data()), kTagText.size()};
  files.write(tag.fd(), &part, 1);
}

}  // namespace

Directory::Directory(FileSystem& files, std::string root, uid_t user) noexcept
    : files_(files), root_(std::move(root)), user_(user) {}

Result<std::unique_ptr<Directory>> Directory::open(FileSystem& files, const std::string& root,
                                                   bool read_only) {
  if (root.empty() || root.front() != '/') {
    return fail(Code::invalid_argument, "open store " + root + ": not an absolute path");
  }
  std::unique_ptr<Directory> directory(
      new Directory(files, root.substr(0, root.find_last_not_of('/') + 1), effective_user()));
  auto version = directory->open_version(!read_only);
  if (!version) return fail(version.error().code, "open store " + version.error().what);
  directory->version_ = File(files, *version);
  return directory;
}

std::uint64_t Directory::identity() const noexcept {
  struct stat status {};
  if (files_.status(fd(), status) < 0) return 0;
  return static_cast<std::uint64_t>(status.st_ino) * 0x9e3779b97f4a7c15 ^
         static_cast<std::uint64_t>(status.st_dev);
}

// Four calls when everything is there: open ROOT/v1, look at it, at ROOT and at the directory that ROOT is
// in. Looking at ROOT by its path after the open is safe because nobody else can rename in a parent that
// passes the last check.
Result<int> Directory::open_version(bool make) noexcept try {
  std::string path = root_;
  path.append(layout::kVersionDirectory, sizeof layout::kVersionDirectory - 1);
  int fd = files_.open_at(AT_FDCWD, path.c_str(), kDirectoryFlags);
  if (fd == -ENOENT && make) {
    if (const int error = make_root(); error < 0) {
      return error == -ENOTEMPTY ? fail(Code::refused, root_ + kNotEmpty)
                                 : fail(code_of(error), described(root_, error));
    }
    const int made = files_.make_directory_at(AT_FDCWD, path.c_str(), kDirectoryMode);
    if (made < 0 && made != -EEXIST) return fail(code_of(made), described(path, made));
    fd = files_.open_at(AT_FDCWD, path.c_str(), kDirectoryFlags);
    was_made_ = made == 0;
    if (was_made_ && fd >= 0) set_mode(files_, fd, kDirectoryMode);
  }
  if (fd < 0) return fail(code_of(fd), described(path, fd));
  File version(files_, fd);
  struct stat status {};
  if (const int error = files_.status(fd, status); error < 0)
    return fail(code_of(error), described(path, error));
  if (!trust::is_our_directory(status, user_)) return fail(Code::refused, path + kNotOurs);
  if (const int error = files_.status_at(AT_FDCWD, root_.c_str(), status); error < 0) {
    return fail(code_of(error), described(root_, error));
  }
  if (S_ISLNK(status.st_mode))
    return fail(Code::refused, root_ + ": a symbolic link; name the directory itself");
  if (!trust::is_our_directory(status, user_)) return fail(Code::refused, root_ + kNotOurs);
  if (const int error = files_.status_at(fd, "../..", status); error < 0) {
    return fail(code_of(error), described(root_ + "/..", error));
  }
  if (!trust::is_safe_parent(status, user_)) {
    return fail(Code::refused,
                root_ + ": others may replace it in its parent directory; choose another place");
  }
  return std::move(version).release();
} catch (const std::exception&) {
  return fail(Code::out_of_resources, "");
}

// Makes ROOT when it is not there, but nothing in a ROOT that is not ours alone. -ENOTEMPTY: other files are
// there.
int Directory::make_root() {
  const int made = make_directories(files_, root_);
  const File root(files_, files_.open_at(AT_FDCWD, root_.c_str(), kDirectoryFlags));
  // Why it could not be made says more than that it is not there.
  if (!root.is_open()) return made < 0 && root.fd() == -ENOENT ? made : root.fd();
  struct stat status {};
  if (made == 0) set_mode(files_, root.fd(), kDirectoryMode);
  if (const int error = files_.status(root.fd(), status); error < 0) return error;
  if (!trust::is_our_directory(status, user_)) return -ENOTDIR;
  if (made < 0 && is_somebodys(files_, root.fd())) return -ENOTEMPTY;
  write_tag(files_, root.fd());
  return 0;
}

int Directory::check_shard(unsigned shard) noexcept {
  struct stat status {};
  const int error = files_.status_at(fd(), layout::shard_path(shard).c_str(), status);
  if (error < 0) return error;
  if (!trust::is_our_directory(status, user_)) return -ELOOP;
  is_checked_[shard].store(true, std::memory_order_relaxed);
  return 0;
}

int Directory::open_in_shard(unsigned shard, const char* path, int flags, mode_t mode) noexcept {
  const bool plain = lacks_beneath_.load(std::memory_order_relaxed);
  if (plain || !is_checked_[shard].load(std::memory_order_relaxed)) {
    if (const int error = check_shard(shard); error < 0) return error;
  }
  if (!plain) {
    const int opened = files_.open_beneath(fd(), path, flags | O_NOFOLLOW, mode);
    if (opened != -ENOSYS) return opened;
    lacks_beneath_.store(true, std::memory_order_relaxed);
    if (const int error = check_shard(shard); error < 0) return error;
  }
  return files_.open_at(fd(), path, flags | O_NOFOLLOW, mode);
}

int Directory::make_shard(unsigned shard) noexcept {
  const layout::Path path = layout::shard_path(shard);
  int made = files_.make_directory_at(fd(), path.c_str(), kDirectoryMode);
  if (made == -ENOENT) {
    // The version directory itself is gone. One thread opens it anew; another's put is simply not kept.
    if (is_reopening_.exchange(true)) return made;
    auto again = open_version(true);
    if (again) {
      const File fresh(files_, *again);
      files_.replace(fresh.fd(), fd());  // everybody's descriptor stands for the new directory from here on
      epoch_.fetch_add(1, std::memory_order_release);
      for (auto& checked : is_checked_) checked.store(false, std::memory_order_relaxed);
    }
    is_reopening_.store(false);
    if (!again) return made;
    made = files_.make_directory_at(fd(), path.c_str(), kDirectoryMode);
  }
  if (made < 0 && made != -EEXIST) return made;
  if (made == -EEXIST) return 0;
  const int opened = files_.open_at(fd(), path.c_str(), kDirectoryFlags);
  // A umask that closes it even to its owner: leave no such thing behind.
  if (opened == -EACCES) files_.unlink_at(fd(), path.c_str(), AT_REMOVEDIR);
  if (opened < 0) return opened;
  const File directory(files_, opened);
  return set_mode(files_, directory.fd(), kDirectoryMode);
}

bool Directory::is_local() noexcept {
  int known = is_local_.load(std::memory_order_relaxed);
  if (known < 0) {
    FileSpace space;
    known = files_.space(fd(), space) == 0 && space.is_local ? 1 : 0;
    is_local_.store(known, std::memory_order_relaxed);
  }
  return known == 1;
}

}  // namespace larder
