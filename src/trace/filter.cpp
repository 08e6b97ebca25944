#include "trace/filter.hpp"

#include <linux/audit.h>
#include <linux/seccomp.h>

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

}  // namespace

bool is_own_call(unsigned architecture, int number) noexcept {
  return architecture == kArchitecture && (static_cast<unsigned>(number) & kOtherBit) == 0;
}

std::vector<sock_filter> make_filter() {
  std::vector<sock_filter> code;
  if (kArchitecture == 0) return code;
  const auto calls = traced_calls();
  const std::size_t count = calls.size();
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
  for (std::size_t i = 0; i < count; ++i)
    code.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(calls[i].number), count - i, 0));
  code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  return code;
}

}  // namespace larder::trace
