#include "trace/calls.hpp"

#include <sys/syscall.h>

#include <algorithm>
#include <array>

// Newer than the headers of Debian 12; the numbers are the same on all machines.
#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat 463
#define SYS_getxattrat 464
#define SYS_listxattrat 465
#define SYS_removexattrat 466
#endif
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr 467
#endif
#ifndef SYS_file_getattr
#define SYS_file_getattr 468
#define SYS_file_setattr 469
#endif

namespace larder::trace {
namespace {

using enum Form;

constexpr Uses kMade = kWritten | kMakes | kReplaces;
constexpr Uses kNew = kMade | kOnlyNew;
constexpr const char* kMounts = "it changed what is mounted where";
constexpr const char* kHandles = "it opened a file without naming its path";
constexpr const char* kRings = "it used io_uring, which reads and writes unseen";
constexpr const char* kShared = "it shared memory or messages with other processes";

constexpr Call named(int number, Uses uses, Follows follows = Follows::yes) {
  return {.number = number, .form = path, .first = {.text = 0, .uses = uses, .follows = follows}};
}
constexpr Call named_at(int number, Uses uses, Follows follows = Follows::yes, int flags = -1) {
  return {.number = number,
          .form = path,
          .flags = flags,
          .first = {.directory = 0, .text = 1, .uses = uses, .follows = follows}};
}
constexpr Call of_fd(int number, Uses uses) {
  return {.number = number, .form = by_fd, .first = {.uses = uses}};
}
constexpr Call unseen(int number, const char* what, bool moves_names = false) {
  return {.number = number, .form = opaque, .moves_names = moves_names, .what = what};
}

constexpr std::array kCalls = {
#ifdef SYS_open
    Call{.number = SYS_open, .form = open, .flags = 1, .first = {.text = 0}},
    Call{.number = SYS_creat, .form = path, .first = {.text = 0, .uses = kMade}},
    named(SYS_stat, kLooked),
    named(SYS_lstat, kLooked, Follows::no),
    named(SYS_access, kLooked),
    named(SYS_readlink, kRead, Follows::no),
    named(SYS_mkdir, kNew, Follows::no),
    named(SYS_mknod, kNew, Follows::no),
    Call{.number = SYS_rmdir,
         .form = path,
         .first = {.text = 0, .uses = kRemoved, .follows = Follows::no},
         .moves_names = true},
    Call{.number = SYS_unlink,
         .form = path,
         .first = {.text = 0, .uses = kRemoved, .follows = Follows::no},
         .moves_names = true},
    Call{.number = SYS_rename,
         .form = two,
         .first = {.text = 0, .uses = kRead | kRemoved, .follows = Follows::no},
         .second = {.text = 1, .uses = kMade, .follows = Follows::no},
         .moves_names = true},
    Call{.number = SYS_link,
         .form = two,
         .first = {.text = 0, .uses = kRead, .follows = Follows::no},
         .second = {.text = 1, .uses = kNew, .follows = Follows::no}},
    Call{.number = SYS_symlink,
         .form = path,
         .first = {.text = 1, .uses = kNew, .follows = Follows::no},
         .moves_names = true},
    named(SYS_chmod, kWritten),
    named(SYS_chown, kWritten),
    named(SYS_lchown, kWritten, Follows::no),
    named(SYS_utime, kWritten),
    named(SYS_utimes, kWritten),
    Call{.number = SYS_futimesat, .form = maybe_fd, .first = {.directory = 0, .text = 1, .uses = kWritten}},
    of_fd(SYS_getdents, kListed),
    unseen(SYS_uselib, "it loaded a library in a way of old"),
#endif
    Call{.number = SYS_openat, .form = open, .flags = 2, .first = {.directory = 0, .text = 1}},
    Call{.number = SYS_openat2, .form = open_how, .flags = 2, .first = {.directory = 0, .text = 1}},
#ifdef SYS_newfstatat
    named_at(SYS_newfstatat, kLooked, Follows::unless_told, 3),
#endif
    named_at(SYS_statx, kLooked, Follows::unless_told, 2),
    named_at(SYS_faccessat, kLooked),
    named_at(SYS_faccessat2, kLooked, Follows::unless_told, 3),
    named_at(SYS_readlinkat, kRead, Follows::no),
    named(SYS_statfs, kLooked),
    Call{.number = SYS_chdir, .form = path, .first = {.text = 0, .uses = kLooked}, .leaves_directory = true},
    Call{.number = SYS_fchdir, .form = by_fd, .first = {.uses = kLooked}, .leaves_directory = true},
    named(SYS_truncate, kWritten),
    named_at(SYS_mkdirat, kNew, Follows::no),
    named_at(SYS_mknodat, kNew, Follows::no),
    Call{.number = SYS_unlinkat,
         .form = path,
         .first = {.directory = 0, .text = 1, .uses = kRemoved, .follows = Follows::no},
         .moves_names = true},
#ifdef SYS_renameat
    Call{.number = SYS_renameat,
         .form = two,
         .first = {.directory = 0, .text = 1, .uses = kRead | kRemoved, .follows = Follows::no},
         .second = {.directory = 2, .text = 3, .uses = kMade, .follows = Follows::no},
         .moves_names = true},
#endif
    Call{.number = SYS_renameat2,
         .form = two,
         .flags = 4,
         .first = {.directory = 0, .text = 1, .uses = kRead | kRemoved, .follows = Follows::no},
         .second = {.directory = 2, .text = 3, .uses = kMade, .follows = Follows::no},
         .moves_names = true},
    Call{.number = SYS_linkat,
         .form = two,
         .flags = 4,
         .first = {.directory = 0, .text = 1, .uses = kRead, .follows = Follows::if_told},
         .second = {.directory = 2, .text = 3, .uses = kNew, .follows = Follows::no}},
    Call{.number = SYS_symlinkat,
         .form = path,
         .first = {.directory = 1, .text = 2, .uses = kNew, .follows = Follows::no},
         .moves_names = true},
    named_at(SYS_fchmodat, kWritten),
    named_at(SYS_fchmodat2, kWritten, Follows::unless_told, 3),
    named_at(SYS_fchownat, kWritten, Follows::unless_told, 4),
    Call{.number = SYS_utimensat,
         .form = maybe_fd,
         .flags = 3,
         .first = {.directory = 0, .text = 1, .uses = kWritten, .follows = Follows::unless_told}},
    of_fd(SYS_fchmod, kWritten),
    of_fd(SYS_fchown, kWritten),
    of_fd(SYS_fsetxattr, kWritten),
    of_fd(SYS_fremovexattr, kWritten),
    of_fd(SYS_getdents64, kListed),
    named(SYS_setxattr, kWritten),
    named(SYS_lsetxattr, kWritten, Follows::no),
    named(SYS_removexattr, kWritten),
    named(SYS_lremovexattr, kWritten, Follows::no),
    named(SYS_getxattr, kLooked),
    named(SYS_lgetxattr, kLooked, Follows::no),
    named(SYS_listxattr, kLooked),
    named(SYS_llistxattr, kLooked, Follows::no),
    named_at(SYS_setxattrat, kWritten, Follows::unless_told, 2),
    named_at(SYS_removexattrat, kWritten, Follows::unless_told, 2),
    named_at(SYS_getxattrat, kLooked, Follows::unless_told, 2),
    named_at(SYS_listxattrat, kLooked, Follows::unless_told, 2),
    named_at(SYS_file_getattr, kLooked, Follows::unless_told, 4),
    named_at(SYS_file_setattr, kWritten, Follows::unless_told, 4),
    Call{.number = SYS_inotify_add_watch, .form = path, .first = {.text = 1, .uses = kLooked}},
    Call{.number = SYS_execve, .form = run, .first = {.text = 0, .uses = kRead | kRun}},
    Call{.number = SYS_execveat,
         .form = run,
         .flags = 4,
         .first = {.directory = 0, .text = 1, .uses = kRead | kRun, .follows = Follows::unless_told}},
    Call{.number = SYS_connect, .form = Form::connect},
    Call{.number = SYS_bind, .form = Form::connect, .first = {.uses = kNew}},
    Call{.number = SYS_socket, .form = Form::socket},
    unseen(SYS_io_uring_setup, kRings),
    unseen(SYS_name_to_handle_at, kHandles),
    unseen(SYS_open_by_handle_at, kHandles),
    unseen(SYS_chroot, kMounts, true),
    unseen(SYS_pivot_root, kMounts, true),
    unseen(SYS_mount, kMounts, true),
    unseen(SYS_umount2, kMounts, true),
    unseen(SYS_setns, kMounts, true),
    unseen(SYS_open_tree, kMounts, true),
    unseen(SYS_open_tree_attr, kMounts, true),
    unseen(SYS_move_mount, kMounts, true),
    unseen(SYS_fsmount, kMounts, true),
    unseen(SYS_mount_setattr, kMounts, true),
    unseen(SYS_pidfd_getfd, kHandles),
    unseen(SYS_shmget, kShared),
    unseen(SYS_msgget, kShared),
    unseen(SYS_mq_open, kShared),
};

constexpr auto sorted() {
  auto calls = kCalls;
  std::sort(calls.begin(), calls.end(), [](const Call& a, const Call& b) { return a.number < b.number; });
  return calls;
}
constexpr auto kSorted = sorted();

}  // namespace

std::span<const Call> traced_calls() noexcept {
  return kSorted;
}

const Call* find_call(int number) noexcept {
  const auto* const place = std::lower_bound(kSorted.begin(), kSorted.end(), number,
                                             [](const Call& call, int n) { return call.number < n; });
  return place != kSorted.end() && place->number == number ? &*place : nullptr;
}

}  // namespace larder::trace
