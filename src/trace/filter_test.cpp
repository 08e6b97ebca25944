#include "trace/filter.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <cstring>

#include "trace/calls.hpp"

namespace larder::trace {
namespace {

#ifdef __x86_64__
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#endif

struct Ran {
  unsigned answer = 0;  // 0: it has run off its end
  unsigned steps = 0;
};

// As the kernel does it.
Ran run(const std::vector<sock_filter>& code, const seccomp_data& data) {
  Ran ran;
  unsigned value = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const sock_filter& one = code[at];
    ++ran.steps;
    switch (one.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        std::memcpy(&value, reinterpret_cast<const char*>(&data) + one.k, sizeof value);
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        at += value == one.k ? one.jt : one.jf;
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        at += value >= one.k ? one.jt : one.jf;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        at += (value & one.k) != 0 ? one.jt : one.jf;
        break;
      case BPF_RET | BPF_K:
        ran.answer = one.k;
        return ran;
      default:
        ADD_FAILURE() << "instruction " << one.code;
        return ran;
    }
  }
  return ran;
}

seccomp_data call_of(int number, unsigned architecture = kArchitecture) {
  seccomp_data data{};
  data.nr = number;
  data.arch = architecture;
  data.args[0] = static_cast<unsigned>(AT_FDCWD);
  return data;
}

TEST(TraceFilter, HaltsTheCallsOfTheListAndNoOthers) {
  for (const bool sees_links : {true, false}) {
    const std::vector<sock_filter> code = make_filter(sees_links);
    for (int number = 0; number < 2000; ++number) {
      bool halts = find_call(number) != nullptr;
#ifdef SYS_readlink
      if (!sees_links && number == SYS_readlink) halts = false;
#endif
      if (!sees_links && number == SYS_readlinkat) halts = false;
      EXPECT_EQ(run(code, call_of(number)).answer, halts ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW)
          << number;
    }
  }
}

TEST(TraceFilter, HaltsAllCallsOfOtherMachines) {
  const std::vector<sock_filter> code = make_filter(true);
  EXPECT_EQ(run(code, call_of(SYS_getpid, AUDIT_ARCH_I386)).answer, SECCOMP_RET_USER_NOTIF);
#ifdef __x86_64__
  EXPECT_EQ(run(code, call_of(SYS_getpid | 0x40000000)).answer, SECCOMP_RET_USER_NOTIF);  // x32
#endif
}

TEST(TraceFilter, LetsLooksAtOpenFilesPass) {
  const std::vector<sock_filter> code = make_filter(true);
  seccomp_data data = call_of(SYS_statx);
  data.args[2] = AT_EMPTY_PATH;
  EXPECT_EQ(run(code, data).answer, SECCOMP_RET_USER_NOTIF);  // the working directory
  data.args[0] = 3;
  EXPECT_EQ(run(code, data).answer, SECCOMP_RET_ALLOW);
  data.args[2] = 0;
  EXPECT_EQ(run(code, data).answer, SECCOMP_RET_USER_NOTIF);
#ifdef SYS_newfstatat
  data = call_of(SYS_newfstatat);
  data.args[0] = 3;
  EXPECT_EQ(run(code, data).answer, SECCOMP_RET_USER_NOTIF);
  data.args[3] = AT_EMPTY_PATH;
  EXPECT_EQ(run(code, data).answer, SECCOMP_RET_ALLOW);
#endif
}

TEST(TraceFilter, DecidesWithinFewInstructions) {
  const std::vector<sock_filter> code = make_filter(true);
  for (int number = 0; number < 2000; ++number) EXPECT_LE(run(code, call_of(number)).steps, 18u) << number;
}

}  // namespace
}  // namespace larder::trace
