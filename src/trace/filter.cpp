#include "trace/filter.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

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

// Writes the filter's end, which tells pieces apart by halves. The kernel runs a new filter for every number
// there is, to remember those that pass, and the command waits for that, and for its translation: so it must
// be short for each number, and have few instructions.
class Tree {
 public:
  // What `pieces` come to is written behind it. Empty: it is too large for a jump.
  static std::vector<sock_filter> make(std::span<const Piece> pieces) {
    Tree tree;
    tree.append(pieces);
    std::vector<sock_filter>& code = tree.code_;
    if (code.size() > kJumpMax) return {};
    const std::size_t allow = code.size();
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    std::array<std::size_t, kByFd.size()> looks{};
    for (std::size_t i = 0; i < kByFd.size(); ++i) {
      looks[i] = code.size();
      append_look(code, kByFd[i]);
    }
    for (const Jump& open : tree.jumps_) {
      std::size_t target = open.piece->halts ? allow + 1 : allow;
      if (open.piece->by_fd != nullptr)
        target = looks[static_cast<std::size_t>(open.piece->by_fd - kByFd.data())];
      const std::size_t distance = target - open.from - 1;
      if (distance > kJumpMax) return {};
      (open.if_true ? code[open.from].jt : code[open.from].jf) = static_cast<std::uint8_t>(distance);
    }
    return std::move(code);
  }

 private:
  struct Jump {
    std::size_t from;
    bool if_true;
    const Piece* piece;
  };

  static void append_look(std::vector<sock_filter>& code, const ByFd& call) {
    code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, argument(0)));
    code.push_back(jump(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(AT_FDCWD), 3, 0));
    code.push_back(statement(BPF_LD | BPF_W | BPF_ABS, argument(call.flags)));
    code.push_back(jump(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1));
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    code.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }

  // PRECONDITION: there are at least two.
  void append(std::span<const Piece> pieces) {
    const std::size_t half = pieces.size() / 2;
    const std::size_t branch = code_.size();
    code_.push_back(jump(BPF_JMP | BPF_JGE | BPF_K, pieces[half].from, 0, 0));
    if (half == 1)
      jumps_.push_back({branch, false, pieces.data()});
    else
      append(pieces.first(half));
    if (pieces.size() - half == 1) {
      jumps_.push_back({branch, true, &pieces[half]});
    } else {
      code_[branch].jt = static_cast<std::uint8_t>(code_.size() - branch - 1);
      append(pieces.subspan(half));
    }
  }

  std::vector<sock_filter> code_;
  std::vector<Jump> jumps_;
};

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
  const std::vector<sock_filter> tree = Tree::make(pieces_of(sees_links));
  if (tree.empty()) return {};
  code.insert(code.end(), tree.begin(), tree.end());
  return code;
}

}  // namespace larder::trace
