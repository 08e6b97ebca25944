#include "trace/launch.hpp"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "trace/filter.hpp"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

extern char** environ;

namespace larder::trace {
namespace {

// Whoever is only watched needs no mitigations for its own sake, which older kernels switch on otherwise.
constexpr unsigned long kFlags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
constexpr std::size_t kStackBytes = 64 * 1024;

struct Outcome {
  int error = 0;
  int trace_error = 0;
};

// What the child finds in the memory that it has in common with its parent. It allocates nothing.
struct Shared {
  const Launch* what;
  const sigset_t* mask;
  char* const* arguments;
  const char* const* programs;  // to be tried one after the other; ends with null
  sock_fprog filter;
  int socket_fd;
  pid_t parent;
  Outcome* outcome;
};

void send_listener(int socket_fd, int listener) noexcept {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &listener, sizeof listener);
  while (::sendmsg(socket_fd, &message, MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
}

// 0, or why there is no filter.
int be_traced(const Shared& shared) noexcept {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return errno;
  // Signals that come while a call is looked at wait, where the kernel knows how to.
  long listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                            kFlags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &shared.filter);
  if (listener < 0 && errno == EINVAL)
    listener = ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &shared.filter);
  if (listener < 0) return errno;
  send_listener(shared.socket_fd, static_cast<int>(listener));
  // Else the command itself would keep alive what it waits for.
  ::close(static_cast<int>(listener));
  return 0;
}

void put(int from, int to) noexcept {
  if (from == to)
    ::fcntl(from, F_SETFD, 0);
  else
    ::dup2(from, to);
}

// Handlers are the parent's code; a command that starts another way would find them gone as well.
void forget_handlers() noexcept {
  for (int signal = 1; signal < _NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_DFL) continue;
    if (action.sa_handler == SIG_IGN && signal != SIGPIPE) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(signal, &action, nullptr);
  }
}

int run_child(void* memory) {
  Shared& shared = *static_cast<Shared*>(memory);
  const Launch& what = *shared.what;
  forget_handlers();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (::getppid() != shared.parent) ::_exit(127);
  if (what.output_fd >= 0) {
    ::setpgid(0, 0);
    put(what.input_fd, 0);
    put(what.output_fd, 1);
    put(what.output_fd, 2);
  }
  if (what.inherited_fd >= 0) put(what.inherited_fd, what.inherited_fd);
  shared.outcome->trace_error = be_traced(shared);
  ::close(shared.socket_fd);
  if (what.words.empty()) {
    if (::access("/", F_OK) != 0) shared.outcome->error = errno;
    ::_exit(0);
  }
  ::sigprocmask(SIG_SETMASK, shared.mask, nullptr);
  int error = ENOENT;
  for (const char* const* program = shared.programs; *program != nullptr; ++program) {
    ::execve(*program, shared.arguments, environ);
    if (errno == EACCES)
      error = EACCES;
    else if (errno != ENOENT && errno != ENOTDIR)
      error = errno;
    if (error != EACCES && error != ENOENT) break;
  }
  shared.outcome->error = error;
  ::_exit(127);
}

// Where a program of this name is looked for, in that order.
std::vector<std::string> candidates(const Launch& what) {
  const std::string& name = what.words[0];
  if (!what.is_in_path || name.find('/') != std::string::npos) return {name};
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  std::vector<std::string> found;
  for (;;) {
    const std::size_t end = rest.find(':');
    std::string directory(rest.substr(0, end));
    if (!directory.empty()) directory += '/';
    found.push_back(directory + name);
    if (end == rest.npos) return found;
    rest.remove_prefix(end + 1);
  }
}

#if defined(__SANITIZE_THREAD__)
#define LARDER_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LARDER_THREAD_SANITIZER
#endif
#endif

#ifdef LARDER_THREAD_SANITIZER
// ThreadSanitizer would take the child's steps in the memory of both for the parent's. So it is a copy, which
// is waited for until it is another program, and says in `outcome`, which both have, what came of it.
pid_t start_child(char* /*stack_end*/, Shared& shared) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return -1;
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(run_child(&shared));
  ::close(ends[1]);
  char byte = 0;
  while (::read(ends[0], &byte, 1) < 0 && errno == EINTR) continue;
  ::close(ends[0]);
  return pid;
}
#else
pid_t start_child(char* stack_end, Shared& shared) {
  return ::clone(run_child, stack_end, CLONE_VM | CLONE_VFORK | SIGCHLD, &shared);
}
#endif

struct Unmap {
  void operator()(char* stack) const noexcept { ::munmap(stack, kStackBytes); }
};

}  // namespace

Launched launch(const Launch& what, int socket_fd) {
  Launched launched;
  std::vector<sock_filter> code = make_filter(what.sees_links);
  std::vector<char*> arguments;
  for (const std::string& word : what.words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const std::vector<std::string> names = what.words.empty() ? std::vector<std::string>() : candidates(what);
  std::vector<const char*> programs;
  for (const std::string& name : names) programs.push_back(name.c_str());
  programs.push_back(nullptr);
  void* const pages =
      ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (pages == MAP_FAILED) return {.error = errno};
  const std::unique_ptr<char, Unmap> stack(static_cast<char*>(pages));

  sigset_t all;
  sigset_t mine;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &mine);  // no handler runs in the child
  Shared shared{.what = &what,
                .mask = what.mask == nullptr ? &mine : what.mask,
                .arguments = arguments.data(),
                .programs = programs.data(),
                .filter = {static_cast<unsigned short>(code.size()), code.data()},
                .socket_fd = socket_fd,
                .parent = ::getpid(),
                .outcome = new (stack.get()) Outcome};  // where the stack never comes
  const pid_t pid = start_child(stack.get() + kStackBytes, shared);
  if (pid < 0) launched.error = errno;
  ::pthread_sigmask(SIG_SETMASK, &mine, nullptr);
  if (pid < 0) return launched;
  launched.trace_error = shared.outcome->trace_error;
  if (shared.outcome->error != 0) {
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    launched.error = shared.outcome->error;
    return launched;
  }
  launched.pid = pid;
  return launched;
}

int receive_listener(int socket_fd) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  const cmsghdr* const header = got == 1 ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int listener = -1;
  std::memcpy(&listener, CMSG_DATA(header), sizeof listener);
  return listener;
}

}  // namespace larder::trace
