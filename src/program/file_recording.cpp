#include "program/file_recording.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.hpp"
#include "base/file.hpp"
#include "base/fork.hpp"
#include "base/transfer.hpp"
#include "program/clock_macros.hpp"
#include "recipe/canonical.hpp"

namespace larder {
namespace {

thread_local constinit FileRecording* current = nullptr;
thread_local constinit bool is_paused = false;

constinit std::atomic<int> under_way{0};

}  // namespace

bool means_absent(int error) noexcept {
  return error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP;
}

format::FileStamp stamp_of(const struct stat& status) noexcept {
  return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size), to_ns(status.st_mtim),
          to_ns(status.st_ctim)};
}

bool is_racy(const format::FileStamp& stamp, std::int64_t now_ns) noexcept {
  return std::max(stamp.mtime_ns, stamp.ctime_ns) > now_ns - kRacyNs;
}

bool read_content(int fd, std::uint64_t size, std::string& content) noexcept {
  if (size > kRecordedSizeMax) return false;
  try {
    if (content.size() < size) content.resize(std::max<std::uint64_t>(size, 256 * 1024));
  } catch (...) {
    return false;
  }
  return read_fully(FileSystem::posix(), fd, reinterpret_cast<std::byte*>(content.data()), size, 0) == 0;
}

constinit Mutex FileRecording::mutex_;
constinit FileRecording* FileRecording::first_ = nullptr;

void FileRecording::before_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  mutex_.lock();
}
void FileRecording::after_fork() noexcept NO_THREAD_SAFETY_ANALYSIS {
  mutex_.unlock();
}

FileRecording::FileRecording() : outer_(current) {
  at_fork(4, {before_fork, after_fork, after_fork});
  const MutexLock lock(mutex_);
  next_ = first_;
  first_ = this;
  under_way.fetch_add(1, std::memory_order_relaxed);
  current = this;
}

FileRecording::~FileRecording() {
  const MutexLock lock(mutex_);
  FileRecording** place = &first_;
  while (*place != this) place = &(*place)->next_;
  *place = next_;
  under_way.fetch_sub(1, std::memory_order_relaxed);
  current = outer_;
}

bool FileRecording::is_any() noexcept {
  return under_way.load(std::memory_order_relaxed) != 0;
}

template <typename Telling>
void FileRecording::tell(Telling telling) noexcept {
  if (!is_any() || is_paused) return;
  const int error = errno;
  const auto tell_one = [&](FileRecording& recording) NO_THREAD_SAFETY_ANALYSIS {
    try {
      telling(recording);
    } catch (...) {
      recording.seen_.why_not = "memory ran out";
    }
  };
  {
    const MutexLock lock(mutex_);
    if (current != nullptr) {
      tell_one(*current);
    } else {
      for (FileRecording* each = first_; each != nullptr; each = each->next_) tell_one(*each);
    }
  }
  errno = error;
}

void FileRecording::leave_out(std::string folder, bool (*is_own)(std::string_view rest)) noexcept {
  const MutexLock lock(mutex_);
  if (current == nullptr) return;
  current->own_folder_ = std::move(folder);
  current->is_own_ = is_own;
}

bool FileRecording::has_heard() noexcept {
  const MutexLock lock(mutex_);
  return current != nullptr && !current->seen_.files.empty();
}

FileRecording::Pause::Pause() noexcept : before_(is_paused) {
  is_paused = true;
}
FileRecording::Pause::~Pause() {
  is_paused = before_;
}

bool FileRecording::is_own(std::string_view path) const {
  return is_own_ != nullptr && path.size() > own_folder_.size() && path.starts_with(own_folder_) &&
         path[own_folder_.size()] == '/' && is_own_(path.substr(own_folder_.size() + 1));
}

void FileRecording::forbid(std::string why) {
  if (seen_.why_not.empty()) seen_.why_not = std::move(why);
}

SeenFile* FileRecording::note(const char* path, FileState state) {
  if (path == nullptr || *path == '\0') return nullptr;  // what no file can be called
  const std::string_view name(path);
  if (name.size() > format::kClosurePathMax || seen_.files.size() >= format::kFilesMax) {
    forbid("its compiler looks for more files than larder keeps");
    return nullptr;
  }
  auto found = seen_.files.find(name);
  if (found == seen_.files.end()) {
    found = seen_.files.emplace(std::string(name), SeenFile{.state = state}).first;
  } else if (found->second.state != state) {
    forbid("file " + std::string(name) + " came, went or changed while it was compiled");
  }
  return &found->second;
}

void FileRecording::note_failed(const char* path, int error) {
  if (means_absent(error)) {
    note(path, FileState::absent);
  } else {
    forbid("file " + std::string(path) + " could not be looked at: " + std::strerror(error));
  }
}

void FileRecording::note_opened(const char* path, int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return forbid("file " + std::string(path) + " could not be looked at");
  if (S_ISDIR(status.st_mode)) return forbid("its compiler lists the folder " + std::string(path));
  const std::string_view name(path);
  if (!S_ISREG(status.st_mode) || name.starts_with("/proc/") || name.starts_with("/sys/")) {
    return forbid(std::string(path) + " is no file with a lasting content");
  }
  SeenFile* const file = note(path, FileState::file);
  if (file == nullptr) return;
  const format::FileStamp stamp = stamp_of(status);
  if (file->is_read) {
    if (file->opened != stamp) forbid("file " + std::string(path) + " was written while it was compiled");
    return;
  }
  file->is_read = true;
  file->opened = stamp;
  if (!is_racy(stamp, Clock::system().unix_ns())) return;
  // Its times would not show another change: what it holds now must be what it holds in the end.
  thread_local std::string content;
  if (!read_content(fd, stamp.size, content))
    return forbid("file " + std::string(path) + " could not be read");
  file->quick = format::checksum(as_bytes({content.data(), stamp.size}));
  file->has_quick = true;
}

void FileRecording::tell_looked(const char* path, int error, unsigned mode) noexcept {
  tell([&](FileRecording& to) NO_THREAD_SAFETY_ANALYSIS {
    if (path == nullptr || to.is_own(path)) return;
    if (error != 0) return to.note_failed(path, error);
    if (S_ISREG(mode)) {
      to.note(path, FileState::file);
    } else if (S_ISDIR(mode)) {
      to.note(path, FileState::directory);
    } else {
      to.forbid(std::string(path) + " is no file with a lasting content");
    }
  });
}

void FileRecording::tell_opened(const char* path, int error, int fd) noexcept {
  tell([&](FileRecording& to) NO_THREAD_SAFETY_ANALYSIS {
    if (path == nullptr || to.is_own(path)) return;
    if (error != 0) return to.note_failed(path, error);
    to.note_opened(path, fd);
  });
}

void FileRecording::tell_forbidden(std::string_view what, std::string_view path) noexcept {
  tell([&](FileRecording& to) NO_THREAD_SAFETY_ANALYSIS {
    if (to.is_own(path)) return;
    to.forbid("its compiler " + std::string(what) + (path.empty() ? "" : ' ' + std::string(path)));
  });
}

void FileRecording::tell_unheard(const std::string& why) noexcept {
  tell([&](FileRecording& to) NO_THREAD_SAFETY_ANALYSIS { to.forbid(why); });
}

SeenFiles FileRecording::finish() {
  SeenFiles seen;
  {
    const MutexLock lock(mutex_);
    seen = std::move(seen_);
    seen_ = {};
  }
  const auto forbid = [&](const std::string& path, const std::string& why) {
    if (seen.why_not.empty()) seen.why_not = "file " + path + ' ' + why;
  };
  std::string content;
  for (auto& [path, file] : seen.files) {
    if (!seen.why_not.empty()) break;
    if (!file.is_read) continue;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const File open(FileSystem::posix(), fd);
    struct stat status {};
    if (!open.is_open() || ::fstat(fd, &status) != 0 || stamp_of(status) != file.opened) {
      forbid(path, "was written while it was compiled");
      continue;
    }
    if (!read_content(fd, file.opened.size, content)) {
      forbid(path, "is too large to be kept track of, or could not be read again");
      continue;
    }
    const std::string_view text(content.data(), file.opened.size);
    const format::Checksum quick = format::checksum(as_bytes(text));
    if (file.has_quick && quick != file.quick) forbid(path, "was written while it was compiled");
    file.quick = quick;
    file.digest = canonical::digest_of(as_bytes(text));
    if (const auto macro = clock_macro_in(text); !macro.empty()) {
      forbid(path, "uses " + std::string(macro) + ", which is different each time");
    }
    // The next change might not show either.
    if (!is_racy(file.opened, Clock::system().unix_ns())) file.stamp = file.opened;
  }
  return seen;
}

}  // namespace larder
