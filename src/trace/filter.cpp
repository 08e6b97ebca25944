#include "trace/filter.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>

#include "trace/calls.hpp"

namespace larder::trace {
namespace {

#if defined(__x86_64__) && !defined(__ILP32__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
constexpr unsigned kOtherBit = 0x40000000;  // of the numbers of x32
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
constexpr unsigned kOtherBit = 0;
#else
constexpr unsigned kArchitecture = 0;
constexpr unsigned kOtherBit = 0;
#endif

constexpr sock_filter statement(unsigned code, unsigned value) {
  return {static_cast<std::uint16_t>(code), 0, 0, value};
}
constexpr sock_filter jump(unsigned code, unsigned value, std::size_t if_true, std::size_t if_false) {
  return {static_cast<std::uint16_t>(code), static_cast<std::uint8_t>(if_true),
          static_cast<std::uint8_t>(if_false), value};
}

// Calls that look at a file by its path, or at one that is open already, as fstat does; by their flags, which
// stand in an argument.
struct ByFd {
  int number;
  std::size_t flags;
};
constexpr std::array kByFd = {
#ifdef SYS_newfstatat
    ByFd{SYS_newfstatat, 3},
#endif
    ByFd{SYS_statx, 2},
};
constexpr std::size_t kByFdSize = 6;  // instructions

constexpr unsigned argument(std::size_t index) {
  return static_cast<unsigned>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));  // lower half
}

bool asks_for_link(int number) noexcept {
#ifdef SYS_readlink
  if (number == SYS_readlink) return true;
#endif
  return number == SYS_readlinkat;
}

}  // namespace

bool is_own_call(unsigned architecture, int number) noexcept {
  return architecture == kArchitecture && (static_cast<unsigned>(number) & kOtherBit) == 0;
}

std::vector<sock_filter> make_filter(bool sees_links) {
  std::vector<sock_filter> code;
  if (kArchitecture == 0) return code;
  std::vector<int> numbers;
  for (const Call& call : traced_calls())
    if (sees_links || !asks_for_link(call.number)) numbers.push_back(call.number);
  const std::size_t count = numbers.size();
  // Jumps reach 255 instructions; the kernel asks for each number once and remembers those that pass.
  static_assert(BPF_MAXINSNS > 300);
  if (count > 240) return code;
  code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  code.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  if (kOtherBit != 0) {
    code.push_back(jump(BPF_JMP | BPF_JSET | BPF_K, kOtherBit, 0, 1));
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t target = count - i;  // the last return
    for (std::size_t by_fd = 0; by_fd < kByFd.size(); ++by_fd)
      if (kByFd[by_fd].number == numbers[i]) target += 1 + by_fd * kByFdSize;
    code.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(numbers[i]), target, 0));
  }
  code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  for (const ByFd& call : kByFd) {
    code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, argument(0)));
    code.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(AT_FDCWD), 3, 0));
    code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, argument(call.flags)));
    code.push_back(jump(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1));
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  return code;
}

}  // namespace larder::trace
