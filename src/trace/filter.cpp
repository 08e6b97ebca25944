#include "trace/filter.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

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

constexpr std::size_t kJumpMax = 255;  // instructions

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

constexpr unsigned argument(std::size_t index) {
  return static_cast<unsigned>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));  // lower half
}

bool asks_for_link(int number) noexcept {
#ifdef SYS_readlink
  if (number == SYS_readlink) return true;
#endif
  return number == SYS_readlinkat;
}

// What a call comes to: numbers from `from` on, up to the next piece's.
struct Piece {
  unsigned from;
  bool halts;
  const ByFd* by_fd;  // it halts only where it names no open file; null: that is not asked
  bool is_as(const Piece& other) const noexcept { return halts == other.halts && by_fd == other.by_fd; }
};

std::vector<Piece> pieces_of(bool sees_links) {
  std::vector<Piece> pieces;
  const auto add = [&](const Piece& piece) {
    if (!pieces.empty() && pieces.back().from == piece.from) pieces.pop_back();
    if (pieces.empty() || !pieces.back().is_as(piece)) pieces.push_back(piece);
  };
  add({0, false, nullptr});
  for (const Call& call : traced_calls()) {
    if (!sees_links && asks_for_link(call.number)) continue;
    const auto* const by_fd = std::find_if(kByFd.begin(), kByFd.end(),
                                           [&](const ByFd& each) { return each.number == call.number; });
    const auto number = static_cast<unsigned>(call.number);
    add({number, true, by_fd == kByFd.end() ? nullptr : by_fd});
    add({number + 1, false, nullptr});
  }
  return pieces;
}

void append_piece(std::vector<sock_filter>& code, const Piece& piece) {
  if (piece.by_fd != nullptr) {
    code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, argument(0)));
    code.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(AT_FDCWD), 3, 0));
    code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, argument(piece.by_fd->flags)));
    code.push_back(jump(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1));
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  code.push_back(statement(BPF_RET | BPF_K, piece.halts ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW));
}

// By halves. The kernel runs a new filter for every number there is, to remember those that pass, and the
// command waits for that: so this must be short for each.
void append_tree(std::vector<sock_filter>& code, std::span<const Piece> pieces) {
  if (pieces.size() == 1) return append_piece(code, pieces[0]);
  const std::size_t half = pieces.size() / 2;
  const std::size_t branch = code.size();
  code.push_back({});
  append_tree(code, pieces.first(half));
  code[branch] = jump(BPF_JMP | BPF_JGE | BPF_K, pieces[half].from, code.size() - branch - 1, 0);
  append_tree(code, pieces.subspan(half));
}

}  // namespace

bool is_own_call(unsigned architecture, int number) noexcept {
  return architecture == kArchitecture && (static_cast<unsigned>(number) & kOtherBit) == 0;
}

std::vector<sock_filter> make_filter(bool sees_links) {
  std::vector<sock_filter> code;
  if (kArchitecture == 0) return code;
  code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  code.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  if (kOtherBit != 0) {
    code.push_back(jump(BPF_JMP | BPF_JSET | BPF_K, kOtherBit, 0, 1));
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  append_tree(code, pieces_of(sees_links));
  if (code.size() > kJumpMax) code.clear();
  return code;
}

}  // namespace larder::trace
