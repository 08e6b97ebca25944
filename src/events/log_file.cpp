#include "events/log_file.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "events/event_json.hpp"
#include "larder/events.hpp"

namespace larder {
namespace {

// Holds back the signals that a write may raise, and takes those that it did raise.
class SignalShield {
 public:
  SignalShield() noexcept {
    sigemptyset(&raised_);
    sigaddset(&raised_, SIGPIPE);
    sigaddset(&raised_, SIGXFSZ);
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE) == 1) sigdelset(&raised_, SIGPIPE);  // the host's own
    if (sigismember(&pending, SIGXFSZ) == 1) sigdelset(&raised_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &raised_, &before_);
  }
  ~SignalShield() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalShield(const SignalShield&) = delete;
  SignalShield& operator=(const SignalShield&) = delete;

  void take_raised() noexcept {
    const timespec at_once{};
    while (sigtimedwait(&raised_, nullptr, &at_once) > 0) {
    }
  }

 private:
  sigset_t raised_{};
  sigset_t before_{};
};

// 0, 1 and 2 belong to the host, even where it closed them.
int above_standard_streams(int descriptor) noexcept {
  if (descriptor > 2 || descriptor < 0) return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return moved;
}

constinit std::atomic<bool> has_begun{false};

// A file that is logged to for as long as the process lives: what ends it early could only lose the last
// lines. The list has no lock, which a fork could leave locked: two threads that name the same file for the
// first time at once log each line twice.
struct Log {
  std::string path;
  std::unique_ptr<LogFile> file;
  Subscription subscription;
  Log* next = nullptr;
};
constinit std::atomic<Log*> logs{nullptr};

}  // namespace

Result<std::unique_ptr<LogFile>> LogFile::open(const std::string& path, std::uint64_t size_max) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int descriptor = above_standard_streams(::open(path.c_str(), kFlags, 0600));
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status) != 0) {
    const std::string why = std::generic_category().message(errno);
    if (descriptor >= 0) ::close(descriptor);
    return fail(Code::io, "open " + path + ": " + why);
  }
  return std::unique_ptr<LogFile>(new LogFile(descriptor, status.st_dev, status.st_ino, size_max));
}

LogFile::~LogFile() {
  ::close(descriptor_);
}

void LogFile::log(const Event& event) noexcept {
  const int host_errno = errno;
  // A line that begins anew after a torn one.
  struct {
    char newline = '\n';
    EventLine line;
  } buffer;
  std::string_view text = write_json(event, getpid(), buffer.line);
  const bool was_torn = is_torn_.exchange(false, std::memory_order_relaxed);
  if (was_torn) text = {&buffer.newline, text.size() + 1};

  ssize_t written = -1;
  struct stat status {};
  const std::uint64_t size_max = size_max_.load(std::memory_order_relaxed);
  const auto fits = [&] {
    return size_max == 0 || static_cast<std::uint64_t>(status.st_size) + text.size() <= size_max;
  };
  if (fstat(descriptor_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_ && fits()) {
    SignalShield shield;
    do {
      written = ::write(descriptor_, text.data(), text.size());
    } while (written < 0 && errno == EINTR);
    if (written < 0 && (errno == EPIPE || errno == EFBIG)) shield.take_raised();
  }
  if (written != static_cast<ssize_t>(text.size())) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    if (was_torn || written > 0) is_torn_.store(true, std::memory_order_relaxed);
  }
  errno = host_errno;
}

Result<void> log_to(const std::string& path, std::uint64_t size_max) {
  for (const Log* log = logs.load(std::memory_order_acquire); log != nullptr; log = log->next) {
    if (log->path != path) continue;
    log->file->limit(size_max);
    return {};
  }
  auto file = LogFile::open(path, size_max);
  if (!file) return fail(file.error().code, std::move(file.error().what));
  auto subscription = subscribe([kept = file->get()](const Event& event) { kept->log(event); });
  if (!subscription) return fail(subscription.error().code, std::move(subscription.error().what));
  auto* const log = new Log{path, std::move(*file), std::move(*subscription), logs.load()};
  while (!logs.compare_exchange_weak(log->next, log)) continue;
  return {};
}

void log_as_environment_says() noexcept {
  if (has_begun.load(std::memory_order_relaxed) || has_begun.exchange(true)) return;
  const char* const path = secure_getenv("LARDER_LOG");
  // A relative path is refused: each process would log in the directory that it happens to be in. The
  // settings say so where a cache is opened.
  if (path == nullptr || *path != '/') return;
  const int host_errno = errno;
  try {
    (void)log_to(path, kLogSizeMax);
  } catch (const std::bad_alloc&) {
    // Then there is no log.
  }
  errno = host_errno;
}

}  // namespace larder
