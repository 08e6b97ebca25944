// What the store requires of a file or directory before it uses it: the user's own, and nobody else may write
// it. And how it opens and makes its own.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cerrno>

namespace larder::trust {

inline constexpr int kReadFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
inline constexpr mode_t kFileMode = 0600;

inline bool is_ours(const struct stat& status, uid_t user) noexcept {
  return status.st_uid == user && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

inline bool is_our_directory(const struct stat& status, uid_t user) noexcept {
  return S_ISDIR(status.st_mode) && is_ours(status, user);
}

inline bool is_our_file(const struct stat& status, uid_t user) noexcept {
  return S_ISREG(status.st_mode) && is_ours(status, user);
}

// Whether a call failed with `error` (minus errno) for want of descriptors or memory: that says nothing of
// the file.
inline bool is_want(int error) noexcept {
  return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

// A directory in which nobody but the user and root can put another in the place of ours.
inline bool is_safe_parent(const struct stat& status, uid_t user) noexcept {
  if (!S_ISDIR(status.st_mode) || (status.st_uid != user && status.st_uid != 0)) return false;
  return (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (status.st_mode & S_ISVTX) != 0;
}

}  // namespace larder::trust
