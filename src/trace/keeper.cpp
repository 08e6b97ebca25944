#include "trace/keeper.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "trace/halted.hpp"

namespace larder::trace {
namespace {

// Holds on to nothing of ours but `fds`, which are in ascending order.
void close_others(const std::vector<pollfd>& fds) noexcept {
  unsigned from = 0;
  for (const pollfd& kept : fds) {
    const auto fd = static_cast<unsigned>(kept.fd);
    if (fd > from) (void)::syscall(SYS_close_range, from, fd - 1, 0);
    from = fd + 1;
  }
  (void)::syscall(SYS_close_range, from, ~0U, 0);
}

// In a process whose other threads are gone: nothing here allocates.
[[noreturn]] void keep(std::vector<pollfd>& listeners, Halted& halted) noexcept {
  ::setsid();
  (void)!::chdir("/");
  close_others(listeners);
  std::size_t left = listeners.size();
  while (left != 0) {
    if (::poll(listeners.data(), listeners.size(), -1) < 0) continue;
    for (pollfd& listener : listeners) {
      if ((listener.revents & POLLIN) != 0) {
        if (halted.receive(listener.fd)) halted.let_go(listener.fd);
      } else if (listener.revents != 0) {
        ::close(listener.fd);
        listener.fd = -1;  // poll passes it over
        --left;
      }
    }
  }
  ::_exit(0);
}

}  // namespace

void leave_keeper(const std::vector<int>& listeners) {
  if (listeners.empty()) return;
  std::vector<pollfd> polled;
  for (const int listener : listeners) polled.push_back({listener, POLLIN, 0});
  std::sort(polled.begin(), polled.end(), [](const pollfd& a, const pollfd& b) { return a.fd < b.fd; });
  Halted halted;
  const pid_t between = ::fork();  // so that nobody of ours has to wait for the keeper
  if (between == 0) {
    if (::fork() == 0) keep(polled, halted);
    ::_exit(0);
  }
  int status = 0;
  while (between > 0 && ::waitpid(between, &status, 0) < 0 && errno == EINTR) continue;
}

}  // namespace larder::trace
