#include "trace/answers.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <system_error>
#include <utility>

#include "trace/halted.hpp"
#include "trace/launch.hpp"

namespace larder::trace {
namespace {

using Steady = std::chrono::steady_clock;

// For what a command leaves behind that is about to end.
constexpr std::chrono::milliseconds kGrace{100};
// Ends a wait for the next call. Nobody else sends it to a thread.
constexpr int kInterrupt = SIGURG;

extern "C" void larder_trace_interrupt(int) {}

void let_interrupt() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action {};
    action.sa_handler = larder_trace_interrupt;  // and waits are not begun again
    (void)::sigaction(kInterrupt, &action, nullptr);
  });
}

}  // namespace

Answers::~Answers() {
  if (const int listener = release(); listener >= 0) ::close(listener);
  close_sender();
  if (receiver_ >= 0) ::close(receiver_);
  if (wake_ >= 0) ::close(wake_);
}

int Answers::begin() {
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return -1;
  receiver_ = ends[0];
  sender_ = ends[1];
  wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return -1;
  let_interrupt();
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    return -1;
  }
  return sender_;
}

// A signal that comes just before the thread waits for a call is lost, so they are sent until it has seen
// that there is something else.
void Answers::wait() {
  if (!needs_signal_.load(std::memory_order_acquire)) return changed_.wait(mutex_);
  (void)::pthread_kill(thread_.native_handle(), kInterrupt);
  (void)changed_.wait_for(mutex_, std::chrono::milliseconds(1));
}

void Answers::close_sender() noexcept {
  if (sender_ >= 0) ::close(std::exchange(sender_, -1));
}

void Answers::enter(Phase phase) noexcept {
  phase_.store(phase, std::memory_order_release);
  const std::uint64_t one = 1;
  (void)!::write(wake_, &one, sizeof one);
}

void Answers::report(Report report, bool is_last) {
  const MutexLock lock(mutex_);
  report_ = std::move(report);
  is_reported_ = true;
  has_ended_ = is_last;
  changed_.notify_all();
}

void Answers::run() {
  listener_ = receive_listener(receiver_);
  if (listener_ < 0) {
    Report none;
    none.why_unknowable = "it could not be traced";
    report(std::move(none), true);
  } else {
    take_turns(listener_);
    if (serve(listener_)) ::close(std::exchange(listener_, -1));
  }
  needs_signal_.store(false, std::memory_order_release);
  const MutexLock lock(mutex_);
  has_ended_ = true;
  changed_.notify_all();
}

bool Answers::serve(int listener) {
  Halted halted;
  Record record;
  bool is_recorded = true;
  bool ends = false;
  Steady::time_point deadline;
  const auto stop_recording = [&](bool is_last) {
    report(record.take_report(), is_last);
    is_recorded = false;
  };
  for (;;) {
    // While nothing but calls is to be heard of they are waited for in one step instead of two.
    while (phase_.load(std::memory_order_acquire) == Phase::runs && halted.receive(listener)) {
      record.take(halted.call());
      halted.let_go(listener);
    }
    if (phase_.load(std::memory_order_acquire) != Phase::runs)
      needs_signal_.store(false, std::memory_order_release);
    std::array<pollfd, 2> polled = {{{listener, POLLIN, 0}, {wake_, POLLIN, 0}}};
    int timeout = -1;
    if (ends && is_recorded) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Steady::now());
      timeout = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
    const int count = ::poll(polled.data(), polled.size(), timeout);
    if (count < 0) continue;
    if ((polled[0].revents & POLLIN) != 0) {
      if (!halted.receive(listener)) continue;
      if (is_recorded) record.take(halted.call());
      halted.let_go(listener);
    } else if (polled[0].revents != 0) {
      if (is_recorded) stop_recording(true);
      return true;
    }
    if ((polled[1].revents & POLLIN) != 0) {
      std::uint64_t times = 0;
      (void)!::read(wake_, &times, sizeof times);
    }
    const Phase phase = phase_.load(std::memory_order_acquire);
    if (phase == Phase::released) {
      if (is_recorded) stop_recording(false);
      return false;
    }
    if (phase == Phase::ends && !ends) {
      ends = true;
      deadline = Steady::now() + kGrace;
    }
    if (ends && is_recorded && Steady::now() >= deadline) {
      record.doubt("something that it started outlives it");
      stop_recording(false);
    }
  }
}

Report Answers::end() {
  enter(Phase::ends);
  const MutexLock lock(mutex_);
  while (!is_reported_) wait();
  return std::move(report_);
}

bool Answers::has_ended() {
  const MutexLock lock(mutex_);
  return has_ended_;
}

int Answers::release() {
  if (!thread_.joinable()) return -1;
  close_sender();
  enter(Phase::released);
  {
    const MutexLock lock(mutex_);
    while (!has_ended_) wait();
  }
  thread_.join();
  return std::exchange(listener_, -1);
}

}  // namespace larder::trace
