#include "build/processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "build/command_line.hpp"

extern char** environ;

namespace larder::build {
namespace {

constexpr std::array<int, 3> kStops = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t g_received = 0;

extern "C" void larder_build_note_stop(int signal) {
  if (g_received == 0) g_received = signal;
}

// What posix_spawn is told of one command.
class Launch {
 public:
  Launch(const sigset_t& mask, int null_fd, int output_fd, int inherited) noexcept
      : mask_(mask), null_fd_(null_fd), output_fd_(output_fd), inherited_(inherited) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawnattr_init(&attributes_);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    ::posix_spawnattr_setsigmask(&attributes_, &mask);
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    if (output_fd >= 0) {
      flags |= POSIX_SPAWN_SETPGROUP;
      ::posix_spawnattr_setpgroup(&attributes_, 0);
      ::posix_spawn_file_actions_adddup2(&actions_, null_fd, 0);
      ::posix_spawn_file_actions_adddup2(&actions_, output_fd, 1);
      ::posix_spawn_file_actions_adddup2(&actions_, output_fd, 2);
    }
    if (inherited >= 0)
      ::posix_spawn_file_actions_adddup2(&actions_, inherited, inherited);  // leaves it open
    ::posix_spawnattr_setflags(&attributes_, flags);
  }
  ~Launch() {
    ::posix_spawn_file_actions_destroy(&actions_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  // 0, or why not.
  int run(pid_t& pid, const std::vector<std::string>& words, bool by_path) const {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const auto spawn = by_path ? ::posix_spawnp : ::posix_spawn;
    return spawn(&pid, words[0].c_str(), &actions_, &attributes_, arguments.data(), environ);
  }
  int run_traced(pid_t& pid, const std::vector<std::string>& words, bool by_path, trace::Tracer& tracer,
                 bool sees_links, std::unique_ptr<trace::Tracer::Command>& traced) const {
    trace::Tracer::Started started = tracer.start({.words = words,
                                                   .is_in_path = by_path,
                                                   .mask = &mask_,
                                                   .input_fd = output_fd_ < 0 ? -1 : null_fd_,
                                                   .output_fd = output_fd_,
                                                   .inherited_fd = inherited_,
                                                   .sees_links = sees_links});
    pid = started.pid;
    traced = std::move(started.command);
    return started.error;
  }

 private:
  const sigset_t& mask_;
  int null_fd_;
  int output_fd_;
  int inherited_;
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

}  // namespace

StopSignals::StopSignals() noexcept {
  g_received = 0;
  sigset_t stops;
  ::sigemptyset(&stops);
  for (const int signal : kStops) ::sigaddset(&stops, signal);
  ::pthread_sigmask(SIG_BLOCK, &stops, &outer_mask_);
  for (std::size_t i = 0; i < kStops.size(); ++i) {
    struct sigaction action {};
    ::sigaction(kStops[i], nullptr, &old_[i]);
    if (old_[i].sa_handler == SIG_IGN) continue;  // under nohup, say
    action.sa_handler = larder_build_note_stop;
    ::sigaction(kStops[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (std::size_t i = 0; i < kStops.size(); ++i) ::sigaction(kStops[i], &old_[i], nullptr);
  ::pthread_sigmask(SIG_SETMASK, &outer_mask_, nullptr);
}

int StopSignals::received() noexcept {
  return g_received;
}

int StopSignals::wait(int timeout_ms) noexcept {
  const timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
  if (g_received == 0) (void)::ppoll(nullptr, 0, &timeout, &outer_mask_);
  return g_received;
}

Processes::~Processes() {
  signal_all(SIGKILL);
  for (const Child& child : children_) {
    if (child.output_fd >= 0) ::close(child.output_fd);
    if (child.pid_fd >= 0) ::close(child.pid_fd);
    int status = 0;
    while (::waitpid(child.pid, &status, 0) < 0 && errno == EINTR) continue;
  }
  if (null_fd_ >= 0) ::close(null_fd_);
}

int Processes::null_fd() {
  if (null_fd_ < 0) null_fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  return null_fd_;
}

Result<void> Processes::start(unsigned number, const std::string& command, bool on_console, int inherited,
                              trace::Tracer* tracer, bool sees_links) {
  std::array<int, 2> ends = {-1, -1};
  if (!on_console && ::pipe2(ends.data(), O_CLOEXEC) != 0)
    return fail(Code::out_of_resources, std::string("make a pipe: ") + std::strerror(errno));
  const Launch launch(signals_.outer_mask(), null_fd(), ends[1], inherited);
  pid_t pid = -1;
  std::unique_ptr<trace::Tracer::Command> traced;
  const auto run = [&](const std::vector<std::string>& words, bool by_path) {
    return tracer == nullptr ? launch.run(pid, words, by_path)
                             : launch.run_traced(pid, words, by_path, *tracer, sees_links, traced);
  };
  int error = ENOEXEC;
  if (const auto words = plain_words(command)) error = run(*words, true);
  // The shell says best what cannot be started, and starts scripts that do not say what reads them.
  if (error == ENOEXEC || error == ENOENT || error == EACCES || error == ENOTDIR)
    error = run({"/bin/sh", "-c", command}, false);
  if (ends[1] >= 0) ::close(ends[1]);
  if (error != 0) {
    if (ends[0] >= 0) ::close(ends[0]);
    return fail(Code::out_of_resources, std::string("start the command: ") + std::strerror(error));
  }
  children_.push_back({number, pid, ends[0], -1, on_console, {}, tracer, std::move(traced)});
  return {};
}

// False at its end.
bool Processes::read_output(Child& child) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(child.output_fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    child.output.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }
}

Processes::Ended Processes::end(std::size_t index, int status) {
  Child& child = children_[index];
  Ended ended;
  ended.number = child.number;
  ended.output = std::move(child.output);
  ended.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : ended.code - 128;
  ended.by_stop = signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
  if (child.pid_fd >= 0) ::close(child.pid_fd);
  if (child.traced != nullptr) ended.report = child.tracer->end(std::move(child.traced));
  children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(index));
  return ended;
}

std::optional<Processes::Ended> Processes::wait(int timeout_ms, int also_fd, int another_fd) {
  for (;;) {
    std::vector<pollfd> polled;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      if (child.output_fd < 0) {
        int status = 0;
        if (::waitpid(child.pid, &status, WNOHANG) == child.pid) return end(i, status);
        if (child.pid_fd < 0) child.pid_fd = static_cast<int>(::syscall(SYS_pidfd_open, child.pid, 0));
      }
      polled.push_back({child.output_fd >= 0 ? child.output_fd : child.pid_fd, POLLIN, 0});
    }
    for (const int fd : {also_fd, another_fd})
      if (fd >= 0) polled.push_back({fd, POLLIN, 0});
    timespec timeout{timeout_ms / 1000, timeout_ms % 1000 * 1'000'000L};
    const int count =
        ::ppoll(polled.data(), polled.size(), timeout_ms < 0 ? nullptr : &timeout, &signals_.outer_mask());
    if (count <= 0) return std::nullopt;
    bool has_child = false;  // those come first: what else can be read may stay so
    for (std::size_t i = 0; i < children_.size(); ++i) {
      Child& child = children_[i];
      if (polled[i].revents == 0) continue;
      has_child = true;
      if (child.output_fd < 0) continue;
      if (read_output(child)) continue;
      ::close(child.output_fd);
      child.output_fd = -1;
    }
    if (!has_child) return std::nullopt;
  }
}

void Processes::signal_all(int signal) noexcept {
  // What is on the console has the signal from the terminal, unless it came from elsewhere; a second one does
  // no harm.
  for (const Child& child : children_) ::kill(child.on_console ? child.pid : -child.pid, signal);
}

void Processes::signal_one(unsigned number, int signal) noexcept {
  for (const Child& child : children_)
    if (child.number == number) ::kill(child.on_console ? child.pid : -child.pid, signal);
}

}  // namespace larder::build
