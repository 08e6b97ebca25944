#include "trace/halted.hpp"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>

// Of Linux 6.6.
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#endif

namespace larder::trace {
namespace {

std::vector<std::max_align_t> room(std::size_t bytes) {
  return std::vector<std::max_align_t>(bytes / sizeof(std::max_align_t) + 1);
}

}  // namespace

Halted::Halted() {
  seccomp_notif_sizes sizes{};
  (void)::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes);
  call_ = room(std::max<std::size_t>(sizes.seccomp_notif, sizeof(seccomp_notif)));
  answer_ = room(std::max<std::size_t>(sizes.seccomp_notif_resp, sizeof(seccomp_notif_resp)));
}

bool Halted::receive(int listener) noexcept {
  std::memset(call_.data(), 0, call_.size() * sizeof(std::max_align_t));  // else it is refused
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, call_.data()) == 0;
}

void Halted::let_go(int listener) noexcept {
  std::memset(answer_.data(), 0, answer_.size() * sizeof(std::max_align_t));
  auto& answer = *reinterpret_cast<seccomp_notif_resp*>(answer_.data());
  answer.id = call().id;
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  // Nobody waits for it any more when its task was killed.
  while (::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) != 0 && errno == EINTR) continue;
}

void take_turns(int listener) noexcept {
  (void)::ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

}  // namespace larder::trace
