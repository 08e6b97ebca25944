#include "build/leftovers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "base/number.hpp"

namespace larder::build {
namespace {

constexpr std::string_view kName = "/commands";
// Above the numbers by which scripts call descriptors, and make its jobserver's, which may be closed ones.
constexpr int kNumberMin = 200;

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

// Whether the process has the file open, under any of its descriptors.
bool has_open(int process_fd, const struct stat& file) {
  const int fd = ::openat(process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const Directory descriptors(::fdopendir(fd), ::closedir);
  if (descriptors == nullptr) {
    ::close(fd);
    return false;
  }
  while (const dirent* const entry = ::readdir(descriptors.get())) {
    struct stat status {};
    if (entry->d_name[0] != '.' && ::fstatat(fd, entry->d_name, &status, 0) == 0 &&
        status.st_dev == file.st_dev && status.st_ino == file.st_ino)
      return true;
  }
  return false;
}

std::string name_of(int process_fd) {
  std::array<char, 64> text{};
  const int fd = ::openat(process_fd, "comm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "?";
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  std::string name(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

}  // namespace

CommandsFile::~CommandsFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

Result<int> CommandsFile::fd() {
  if (fd_ >= 0) return fd_;
  const std::string path = directory_ + std::string(kName);
  const int opened = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (opened < 0) return fail(Code::io, "open " + path + ": " + std::strerror(errno));
  path_ = path;
  const int high = ::fcntl(opened, F_DUPFD_CLOEXEC, kNumberMin);
  fd_ = high < 0 ? opened : high;
  if (high >= 0) ::close(opened);
  const std::string session = std::to_string(::getsid(0)) + '\n';
  // A full disk leaves the session unsaid: then every leftover counts as one that is to be waited for.
  (void)!::write(fd_, session.data(), session.size());
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0)
    return fail(Code::io, "lock " + path + ": " + std::strerror(errno));
  return fd_;
}

Leftovers::Leftovers(const std::string& directory) : path_(directory + std::string(kName)) {}

Leftovers::~Leftovers() {
  if (fd_ >= 0) ::close(fd_);
}

bool Leftovers::any() noexcept {
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) return false;
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) return true;
  forget();
  return false;
}

void Leftovers::forget() noexcept {
  ::unlink(path_.c_str());
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

std::vector<Leftover> Leftovers::list() const {
  std::vector<Leftover> found;
  struct stat file {};
  if (fd_ < 0 || ::fstat(fd_, &file) != 0) return found;
  std::array<char, 32> text{};
  const ssize_t got = ::pread(fd_, text.data(), text.size(), 0);
  std::string_view said(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const auto session = take_number<pid_t>(said);
  const Directory processes(::opendir("/proc"), ::closedir);
  if (processes == nullptr) return found;
  while (const dirent* const entry = ::readdir(processes.get())) {
    const auto pid = to_number<pid_t>(entry->d_name);
    if (!pid || *pid == ::getpid()) continue;
    const int process_fd =
        ::openat(::dirfd(processes.get()), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (process_fd < 0) continue;
    if (has_open(process_fd, file)) {
      const pid_t in = ::getsid(*pid);
      found.push_back({*pid, name_of(process_fd), session && in > 0 && in != *session});
    }
    ::close(process_fd);
  }
  std::sort(found.begin(), found.end(),
            [](const Leftover& one, const Leftover& other) { return one.pid < other.pid; });
  return found;
}

}  // namespace larder::build
