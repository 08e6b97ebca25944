#include "tool/follow_up.hpp"

#include <poll.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <utility>

extern char** environ;

namespace larder::tool {
namespace {

constexpr int kPatienceMs = 5000;  // for a command that was asked to end

void watch_fd(int poll_fd, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  (void)::epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event);
}

// Leaves it to be waited for.
bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// A file that nobody else has, at its beginning.
int file_of(const std::string& text) {
  const int fd = ::memfd_create("larder-changed", MFD_CLOEXEC);
  if (fd < 0) return -1;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(fd, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += static_cast<std::size_t>(wrote);
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

}  // namespace

FollowUp::FollowUp(Console& console, std::string command, bool restarts)
    : console_(console),
      command_(std::move(command)),
      restarts_(restarts),
      poll_fd_(::epoll_create1(EPOLL_CLOEXEC)),
      timer_fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  watch_fd(poll_fd_, timer_fd_);
}

FollowUp::~FollowUp() {
  ::close(poll_fd_);
  ::close(timer_fd_);
  if (pid_ < 0) return;
  ::kill(-pid_, SIGTERM);
  pollfd polled{pid_fd_, POLLIN, 0};
  if (::poll(&polled, 1, kPatienceMs) <= 0) ::kill(-pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) continue;
  ::close(pid_fd_);
}

void FollowUp::tell(const std::set<std::string>& paths) {
  paths_.insert(paths.begin(), paths.end());
  if (paths_.empty()) return;
  if (pid_ < 0) {
    start();
  } else if (restarts_) {
    ask_to_end();
  }
}

void FollowUp::begin() {
  if (restarts_ && !has_begun_) start();
}

void FollowUp::ask_to_end() {
  if (is_asked_) return;
  is_asked_ = true;
  ::kill(-pid_, SIGTERM);
  const itimerspec patience{{}, {kPatienceMs / 1000, 0}};
  ::timerfd_settime(timer_fd_, 0, &patience, nullptr);
}

void FollowUp::start() {
  has_begun_ = true;
  std::string text;
  for (const std::string& path : paths_) text += path + '\n';
  paths_.clear();
  (void)console_.flush();
  const int input = file_of(text);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  if (input >= 0) ::posix_spawn_file_actions_adddup2(&actions, input, 0);
  sigset_t none;
  ::sigemptyset(&none);
  sigset_t defaults = none;
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setpgroup(&attributes, 0);  // so that all it starts can be ended with it
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::string shell = "/bin/sh";
  std::string flag = "-c";
  std::string command = command_;
  char* const words[] = {shell.data(), flag.data(), command.data(), nullptr};
  const int error = ::posix_spawn(&pid_, shell.c_str(), &actions, &attributes, words, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (input >= 0) ::close(input);
  if (error != 0) {
    pid_ = -1;
    console_.err("larder: " + printable(command_) + " did not start: " + std::strerror(error) + '\n');
    return;
  }
  pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  watch_fd(poll_fd_, pid_fd_);
}

void FollowUp::on_readable() {
  std::uint64_t expirations = 0;
  const bool is_late = ::read(timer_fd_, &expirations, sizeof expirations) == sizeof expirations;
  if (pid_ < 0) return;
  if (is_late && is_asked_) ::kill(-pid_, SIGKILL);
  if (!has_ended(pid_)) return;
  if (is_asked_) ::kill(-pid_, SIGKILL);  // what it started, which would be in the way of the next
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) return;
  if (pid_fd_ >= 0) ::close(pid_fd_);
  const itimerspec never{};
  ::timerfd_settime(timer_fd_, 0, &never, nullptr);
  pid_ = pid_fd_ = -1;
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (code != 0 && !std::exchange(is_asked_, false)) {
    (void)console_.flush();
    console_.err("larder: " + printable(command_) + " ended with " + std::to_string(code) + '\n');
  }
  is_asked_ = false;
  if (!paths_.empty()) start();
}

}  // namespace larder::tool
